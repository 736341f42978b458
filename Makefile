# The checks of a change, from quick to whole. `make` needs the environment of the README's second
# line (`pip install -e '.[dev]'` into .venv); BIN names another.
BIN ?= .venv/bin
FAST = tests/contract tests/gates tests/stats tests/cli/test_cli_api.py \
	tests/packaging/test_packaging_claims.py

.PHONY: fmt lint test-fast test docs golden golden-accept

fmt:  ## Format the code and fix what can be fixed.
	$(BIN)/ruff check --fix -q .
	$(BIN)/ruff format -q .

lint:  ## Style, types and floors, as CI checks them.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict reviewer
	$(BIN)/lint-imports

test-fast:  ## Pure floors and two doors, with few examples of each property: under a minute.
	HYPOTHESIS_PROFILE=fast $(BIN)/python -m pytest -q -n 2 -m "not slow and not nightly" $(FAST)

test:  ## The whole suite, as the README runs it.
	$(BIN)/python -m pytest -n auto

docs:  ## Build the documentation into site/ (pip install -e '.[docs]'), with every link checked.
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

golden:  ## Compare every byte a user gets with what was accepted.
	$(BIN)/python -m tests.behaviour compare --forked

golden-accept:  ## Accept what the program gives now; the diff shows which outputs it touches.
	$(BIN)/python -m tests.behaviour accept --forked
