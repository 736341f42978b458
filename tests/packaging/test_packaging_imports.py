"""What a command does not load: the start must be quick, and a report needs no terminal."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = frozenset(
    {"textual", "rich", "httpx", "numpy", "scipy", "pydantic", "sqlite_utils", "msgspec"}
    | {"cryptography", "zstandard", "re2", "rapidfuzz", "rfc8785", "asyncio", "sqlite3"}
    | {"typing_extensions"}
)
PROBE = """
import sys
from reviewer.cli.main import main
try:
    code = main(sys.argv[1:])
except SystemExit as left:
    code = left.code
import json
# What stands in place of a module that is never loaded has no spec.
there = [name for name, one in sys.modules.items() if getattr(one, "__spec__", None)]
loaded = sorted({name.partition(".")[0] for name in there})
sys.stderr.write("\\n" + json.dumps([code, loaded]))
"""


def loaded_by(cwd: Path, *arguments: str) -> tuple[int, set[str]]:
    """Exit code, and which heavy libraries stood in `sys.modules` when the command ended."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROBE, *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    code, loaded = json.loads(done.stderr.splitlines()[-1])
    return code, HEAVY & set(loaded)


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("import", "--help"), ("no-such-command",)]
)
def test_saying_what_there_is_loads_nothing_heavy(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    code, loaded = loaded_by(tmp_path, *arguments)
    assert (code, loaded) == (2 if arguments[0] == "no-such-command" else 0, set())


@pytest.mark.parametrize(
    ("candidate", "baseline", "expected"),
    [("refund-agent-v7", None, 10), ("refund-agent-v8", "refund-agent-v7", 0)],
)
def test_a_report_needs_no_terminal_no_network_and_no_arrays(
    demo: Path, tmp_path: Path, candidate: str, baseline: str | None, expected: int
) -> None:
    asked = ["--workspace", str(demo), "--export-report", str(tmp_path), "--candidate", candidate]
    if baseline:
        asked += ["--baseline", baseline]
    code, loaded = loaded_by(demo, *asked)
    assert code == expected
    assert loaded & {"textual", "rich", "httpx", "numpy", "scipy", "pydantic"} == set()
    assert loaded <= {"msgspec", "zstandard", "rfc8785", "sqlite3"}


def test_an_import_into_an_existing_store_needs_no_arrays_and_no_shapes(tmp_path: Path) -> None:
    traces = "suites/refund-eval-v5/traces"
    _, fresh = loaded_by(tmp_path, "init", "--example", ".")  # which makes the store
    assert "pydantic" in fresh  # the first time: the probe sees what is loaded
    assert fresh & {"textual", "rich", "httpx", "numpy", "scipy", "sqlite_utils"} == set()
    loaded_by(tmp_path, "import", f"{traces}/refund-agent-v7.jsonl")
    code, again = loaded_by(tmp_path, "import", traces)
    assert code == 0
    assert again & {"textual", "rich", "httpx", "numpy", "scipy", "sqlite_utils"} == set()


def test_verifying_a_decision_needs_no_store(tmp_path: Path) -> None:
    for name in ("decision", "manifest", "signers"):
        (tmp_path / name).write_text("{}" if name != "signers" else "")
    code, loaded = loaded_by(
        tmp_path, "verify", "decision", "--candidate-manifest", "manifest", "--signers", "signers"
    )
    assert code == 20
    assert (
        loaded & {"textual", "rich", "httpx", "numpy", "scipy", "pydantic", "sqlite_utils"} == set()
    )
