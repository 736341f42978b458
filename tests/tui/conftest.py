"""Workstation tests: no colour switches from the outside, no blinking cursor; and what each of them
does with the workstation is noted, so that acts.txt stays true."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from acts import act_of, claims, note
from behaviour.keys import write_key
from doors import V7, Door, copied, shipped
from label_desks import make_parted
from run_desks import Attempts
from template import (
    Bent,
    attack,
    holding,
    is_attack,
    make_hostile,
    make_shopflow,
    opened,
    with_attack,
)
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.widgets import Input

from reviewer.desk.desk import Desk
from reviewer.desk.place import at
from reviewer.desk.workspace.api import load_shipped


@pytest.fixture(autouse=True)
def _same_terminal_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("TEXTUAL_THEME", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)


@pytest.fixture(autouse=True, scope="session")
def _parsed_once() -> Iterator[None]:
    """A style sheet is parsed once and not for each app: a tenth of the time of these tests."""
    parse, kept = Stylesheet._parse_rules, dict[Any, list[RuleSet]]()

    def parsed(sheet: Stylesheet, *asked: Any, **named: Any) -> list[RuleSet]:
        key = (asked, *named.items(), *sorted(sheet._variables.items()))
        if key not in kept:
            kept[key] = parse(sheet, *asked, **named)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parsed)
        yield


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


@pytest.fixture(scope="session")
def shopflow(tmp_path_factory: pytest.TempPathFactory, empty_template: Path) -> Path:
    """The template of `template.py`, to be copied."""
    door = copied(empty_template, tmp_path_factory.mktemp("template") / "shopflow")
    make_shopflow(door)
    return door.root


@pytest.fixture(scope="session")
def shared(shopflow: Path) -> Iterator[Desk]:
    """One desk on the template, for all tests that only look."""
    desk = opened(shopflow)
    yield desk
    desk.close()


@pytest.fixture
def shop(shared: Desk) -> Bent:
    """The desk of the template. Nothing may be written through it."""
    return Bent(shared)


@pytest.fixture
def own(shopflow: Path, tmp_path: Path) -> Door:
    """A copy of the template, to write to."""
    return copied(shopflow, tmp_path / "shopflow")


@pytest.fixture
def desk(own: Door) -> Iterator[Desk]:
    """A desk on a copy of the template."""
    found = opened(own.root)
    yield found
    found.close()


@pytest.fixture
def empty(door: Door) -> Iterator[Desk]:
    """A desk with the suite and no trace."""
    write_key(door.root / "keys" / "dana")
    found = opened(door.root)
    yield found
    found.close()


@pytest.fixture(scope="session")
def _hostile(tmp_path_factory: pytest.TempPathFactory, empty_template: Path) -> Iterator[Desk]:
    door = copied(empty_template, tmp_path_factory.mktemp("hostile") / "shopflow")
    make_hostile(door)
    desk = opened(door.root)
    yield desk
    desk.close()


@pytest.fixture
def hostile(_hostile: Desk) -> Bent:
    """A desk full of hostile texts. Nothing may be written through it."""
    return Bent(_hostile)


@pytest.fixture
def broken(own: Door) -> Iterator[Desk]:
    """A desk on whose suite a file differs from the lock."""
    file = own.suite / "episodes" / "attack-014.json"
    file.write_bytes(file.read_bytes() + b" ")
    desk = opened(own.root)
    yield desk
    desk.close()


@pytest.fixture
def mine(desk: Desk) -> Bent:
    """A desk on a copy of the template, whose reader holds a key: to write through."""
    return holding(desk)


@pytest.fixture(scope="session")
def _parted(shopflow: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    door = copied(shopflow, tmp_path_factory.mktemp("parted") / "shopflow")
    make_parted(door)
    desk = opened(door.root)
    yield desk
    desk.close()


@pytest.fixture
def parted(_parted: Desk) -> Bent:
    """The template as three people labeled it, two pairs otherwise. Nothing may be written."""
    return Bent(_parted)


@pytest.fixture
def own_parted(_parted: Desk, tmp_path: Path) -> Iterator[Bent]:
    """A desk on a copy of what `parted` is of, to write through."""
    desk = opened(copied(_parted.place.root, tmp_path / "shopflow").root)
    yield Bent(desk)
    desk.close()


@pytest.fixture(scope="session")
def _labeled(shopflow: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    door = copied(shopflow, tmp_path_factory.mktemp("labeled") / "shopflow")
    loaded = load_shipped(at(door.root))
    assert (loaded.labels > 0, loaded.judgments > 0, loaded.refused) == (True, True, 0)
    desk = opened(door.root)
    yield desk
    desk.close()


@pytest.fixture
def labeled(_labeled: Desk) -> Bent:
    """The template with the labels and judgments that ship with it. Nothing may be written."""
    return Bent(_labeled)


@pytest.fixture
def own_labeled(_labeled: Desk, tmp_path: Path) -> Iterator[Bent]:
    """A desk on a copy of what `labeled` is of, to write through."""
    desk = opened(copied(_labeled.place.root, tmp_path / "shopflow").root)
    yield Bent(desk)
    desk.close()


@pytest.fixture
def attempts(desk: Desk) -> Attempts:
    """The attempts of the runs of `desk`, and of `mine`: held until the test says how they end."""
    return Attempts(desk)


@pytest.fixture
def eight(door: Door) -> Iterator[Bent]:
    """A desk with v7's attempts but for the one with a critical failure, which `ninth` brings."""
    write_key(door.root / "keys" / "dana")
    door.ok(
        "keys", "trust", "dana@shopflow", door.root / "keys" / "dana.pub", "--roles", "approver"
    )
    records = [each for each in shipped(V7) if not is_attack(each)]
    assert "8 added" in door.take("v7.jsonl", records).err
    desk = opened(door.root)
    yield holding(desk)
    desk.close()


@pytest.fixture
def ninth(door: Door) -> Callable[[], None]:
    """Imports the attempt that fails critically."""

    def take() -> None:
        door.take("ninth.jsonl", [each for each in shipped(V7) if is_attack(each)])

    return take


@pytest.fixture(scope="session")
def _long(tmp_path_factory: pytest.TempPathFactory, empty_template: Path) -> Iterator[Desk]:
    door = copied(empty_template, tmp_path_factory.mktemp("long") / "shopflow")
    desk = with_attack(door, attack(4_000, again="verify_state"))
    yield desk
    desk.close()


@pytest.fixture
def long(_long: Desk) -> Bent:
    """A desk on which v7's critical failure has 4,000 events. Nothing may be written through it."""
    return Bent(_long)
