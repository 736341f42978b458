"""Workstation tests: no colour switches from the outside, no blinking cursor; and what each of them
does with the workstation is noted, so that acts.txt stays true."""

from collections.abc import Iterator
from typing import Any

import pytest
from acts import act_of, claims, note
from textual.app import App
from textual.widgets import Input


@pytest.fixture(autouse=True)
def _same_terminal_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("TEXTUAL_THEME", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)


@pytest.fixture(autouse=True)
def _does_what_the_ledger_says(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    done: set[str] = set()
    dispatch = App._dispatch_action

    async def noted(self: App[Any], namespace: Any, name: str, params: Any) -> bool:
        handled = await dispatch(self, namespace, name, params)
        if handled:
            kinds = [each.__name__ for each in type(namespace).__mro__]
            done.update(act_of(kind, name, params) for kind in kinds)
        return handled

    monkeypatch.setattr(App, "_dispatch_action", noted)
    yield
    test = f"{request.path.name}::{request.node.name}"
    note(test, done)
    missing = claims(test) - done
    if not getattr(request.node, "failed", False):
        assert not missing, f"acts.txt says that {test} does {missing}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    if report.when == "call":
        item.failed = report.failed  # type: ignore[attr-defined]
    return report
