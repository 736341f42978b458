"""Every kind of member in every reader's samples, made odd one kind at a time: an identifier in the
place of an id is never kept, and an object in the place of a text is never a fault."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz_reading import Desk, leaked, unsoftened
from fuzz_samples import SAMPLES, laid_out
from test_fuzz_readers import desk_for

from reviewer.importing.account import Account
from reviewer.importing.draft import Draft
from reviewer.importing.messages.blocks import parts_of
from reviewer.importing.messages.turns import turn_of
from reviewer.testing.mutants import CANARIES

LARGEST, BY_DAY = 200_000, 15_000
"""Bytes of the files that are tried, in all and by day."""
IDS = ("id", "uuid", "session", "thread", "run", "trace", "task", "conversation", "group", "key")
KINDS = ("type", "kind", "role", "status", "state", "name", "event", "object", "method", "author")


@pytest.fixture(autouse=True)
def _unsoftened() -> Iterator[None]:
    with unsoftened():
        yield


@pytest.fixture(scope="module")
def template(empty_template: Path) -> Path:
    return empty_template


class Document:
    """A file of JSON, of lines of it, or of events that hold it."""

    def __init__(self, raw: bytes) -> None:
        """Raises ValueError for any other file."""
        self._start = b""
        try:
            self.values, self._lines = [json.loads(raw)], False
        except ValueError:
            self._start = b"data: " if raw.startswith(b"data: ") else b""
            lines = [line.removeprefix(self._start) for line in raw.splitlines() if line.strip()]
            self.values = [json.loads(line) for line in lines if line != b"[DONE]"]
            self._lines = True

    def names(self, parts: tuple[str, ...]) -> list[str]:
        """Names of members with a text or a number in them whose end is one of `parts`."""
        found = {
            name
            for holder, name in _members(self.values)
            if name.lower().endswith(parts) and isinstance(holder[name], str | int)
        }
        return sorted(found)

    def with_all(self, name: str, odd: Callable[[Any], Any]) -> bytes:
        """The file with each member of that name replaced, equal ones by equal ones."""
        values = json.loads(json.dumps(self.values))
        for holder, own in list(_members(values)):
            if own == name and isinstance(holder[own], str | int):
                holder[own] = odd(holder[own])
        if not self._lines:
            return json.dumps(values[0]).encode()
        ending = b"\n\n" if self._start else b"\n"
        return b"".join(self._start + json.dumps(one).encode() + ending for one in values)


def _members(value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    if isinstance(value, dict):
        for name, below in list(value.items()):
            yield value, name
            yield from _members(below)
    elif isinstance(value, list):
        for one in value:
            yield from _members(one)


def files_of(
    name: str, template: Path, folder: Path, largest: int
) -> Iterator[tuple[Desk, Path, Path, Document]]:
    """(desk, the file that is imported, a file of its sample, what is in that)."""
    for number, sample in enumerate(SAMPLES[name]):
        place = folder / str(number)
        main = laid_out(sample, place / "in")
        desk = desk_for(name, template, place)
        for file in sorted((place / "in").rglob("*")):
            if not file.is_file() or file.stat().st_size > largest:
                continue
            try:
                document = Document(file.read_bytes())
            except ValueError:
                continue  # an archive, a page, a log
            yield desk, main, file, document
        desk.close()


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_an_identifier_in_the_place_of_an_id_is_not_kept(
    name: str, template: Path, tmp_path: Path
) -> None:
    """Every member of a small file, each with a third of what may stand there."""
    _not_kept(name, template, tmp_path, apart=3)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_no_identifier_in_the_place_of_an_id_is_kept(
    name: str, template: Path, tmp_path: Path
) -> None:
    _not_kept(name, template, tmp_path, apart=1)


def _not_kept(name: str, template: Path, folder: Path, apart: int) -> None:
    kept: dict[str, list[str]] = {}
    largest = LARGEST if apart == 1 else BY_DAY
    for desk, main, file, document in files_of(name, template, folder, largest):
        whole = file.read_bytes()
        for number, member in enumerate(document.names(IDS)):
            for odd in (*CANARIES, *map("thread/{}".format, CANARIES[:2]))[number % apart :: apart]:
                file.write_bytes(document.with_all(member, lambda _, odd=odd: odd))
                if found := leaked(desk.read(main, name)):
                    kept.setdefault(f"{file.name}: {member}: {odd}", found)
        file.write_bytes(whole)
    assert not kept


ODD = ({"a": 1}, [["x"]], 7)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_no_text_in_the_place_of_a_kind_is_no_fault(
    name: str, template: Path, tmp_path: Path
) -> None:
    """Every member of a small file, each with a third of what may stand there."""
    _no_fault(name, template, tmp_path, apart=3)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_nothing_odd_in_the_place_of_a_kind_is_a_fault(
    name: str, template: Path, tmp_path: Path
) -> None:
    _no_fault(name, template, tmp_path, apart=1)


def _no_fault(name: str, template: Path, folder: Path, apart: int) -> None:
    largest = LARGEST if apart == 1 else BY_DAY
    for desk, main, file, document in files_of(name, template, folder, largest):
        whole = file.read_bytes()
        for number, member in enumerate(document.names((*KINDS, *IDS))):
            for odd in ODD[number % apart :: apart]:
                file.write_bytes(document.with_all(member, lambda _, odd=odd: odd))
                try:
                    desk.read(main, name)
                except Exception as error:
                    pytest.fail(f"{file.name}: {member} = {odd}: {error!r}")
        file.write_bytes(whole)


@pytest.mark.parametrize("odd", [{"a": 1}, ["text"], 7, True])
@pytest.mark.parametrize("member", ["type", "role"])
def test_a_block_or_a_message_of_no_kind_is_unread(member: str, odd: Any) -> None:
    call = {"id": "c1", "name": "refund", "input": {"sum": 3}}
    for content in ({**call, member: odd}, [{**call, member: odd}], [{**call, member: odd}] * 2):
        account = Account()
        parts_of(content, account)
        draft = Draft("openai-chat")
        account.tell({"messages": [content]}, draft)
        assert _unread(draft), content
        account = Account()
        message = {**call, member: odd}
        turn_of(message, account)
        draft = Draft("openai-chat")
        account.tell({"messages": [message]}, draft)
        assert _unread(draft), message


def _unread(draft: Draft) -> Any:
    record = json.loads(draft.foreign(episode_id="e", candidate_id="c").raw)
    return record.get("unread")
