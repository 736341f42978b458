"""A document printed over several lines is the document, wherever its lines begin."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doors import Door, many, passing
from hypothesis import given
from hypothesis import strategies as st

from reviewer.importing.foreign_json import MAX_DEPTH, NotJson, deep, parse, surely_no_json
from reviewer.importing.pipeline.split import Unreadable, pieces_of, shape
from reviewer.importing.pipeline.units import claim
from reviewer.importing.reader import Foreign, by_document
from reviewer.importing.source import Source

DATA = Path(__file__).resolve().parents[1] / "data"
_TEXT = re.compile(r'"(?:[^"\\]++|\\.)*+"')


def _outside_texts(text: str, change: Callable[[str], str]) -> str:
    parts, at = [], 0
    for found in _TEXT.finditer(text):
        parts += [change(text[at : found.start()]), found.group()]
        at = found.end()
    return "".join([*parts, change(text[at:])])


def objects_begin_lines(value: Any) -> str:
    """Every object but the first begins a line."""
    text = json.dumps(value, ensure_ascii=False)
    return _outside_texts(text, lambda part: part.replace("{", "\n{")).lstrip()


def commas_begin_lines(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _outside_texts(text, lambda part: part.replace(", ", "\n, "))


FORMS: dict[str, Callable[[Any], str]] = {
    "indent 2": lambda value: json.dumps(value, indent=2),
    "indent 4": lambda value: json.dumps(value, indent=4),
    "indent 0": lambda value: json.dumps(value, indent=0),
    "tab": lambda value: json.dumps(value, indent="\t", ensure_ascii=False),
    "CRLF": lambda value: json.dumps(value, indent=2).replace("\n", "\r\n"),
    "objects begin lines": objects_begin_lines,
    "objects begin lines, CRLF": lambda value: objects_begin_lines(value).replace("\n", "\r\n"),
    "commas begin lines": commas_begin_lines,
    "a last newline": lambda value: objects_begin_lines(value) + "\n",
}
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
records = st.dictionaries(st.text(min_size=1), values, min_size=1, max_size=4)


def cut(text: str, tmp_path: Path) -> list[Any]:
    path = tmp_path / "x.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with path.open("rb") as handle:
        found = list(pieces_of(handle))
    assert not [one.problem for one in found if one.problem]
    return [json.loads(one.raw) for one in found]


@given(records, st.sampled_from(sorted(FORMS)))
def test_any_object_in_any_form_is_one_record(
    tmp_path_factory: pytest.TempPathFactory, record: dict[str, Any], form: str
) -> None:
    [found] = cut(FORMS[form](record), tmp_path_factory.mktemp("one"))
    assert repr(found) == repr(json.loads(json.dumps(record)))


@given(st.lists(records, min_size=2, max_size=4), st.sampled_from(sorted(FORMS)))
def test_any_objects_in_an_array_are_as_many(
    tmp_path_factory: pytest.TempPathFactory, some: list[dict[str, Any]], form: str
) -> None:
    found = cut(FORMS[form](some), tmp_path_factory.mktemp("some"))
    assert repr(found) == repr(json.loads(json.dumps(some)))


@given(st.lists(records, min_size=2, max_size=4), st.data())
def test_a_line_that_was_cut_off_costs_that_line(
    tmp_path_factory: pytest.TempPathFactory, some: list[dict[str, Any]], data: st.DataObject
) -> None:
    """Wherever it ends, the records on the lines behind it are whole."""
    first, *others = (json.dumps(one) for one in some)
    end = data.draw(st.integers(1, len(first) - 1))
    path = tmp_path_factory.mktemp("cut") / "x.jsonl"
    path.write_text("\n".join([first[:end], *others]) + "\n")
    with path.open("rb") as handle:
        found = [one.raw.decode() for one in pieces_of(handle)]
    assert found == [first[:end].strip() and first[:end], *others]


@pytest.mark.parametrize(("text", "kind"), [
    ('{"a": [\n{"b": 1},\n{"b": 2}\n]}', "values"),
    ('{"a":\n{"b": 1}\n}', "values"),
    ('{"a": NaN, "b": [\n{"b": NaN},\n{"b": 2}]}', "values"),
    ('{"a": NaN, "b": [\n{"b": NaN}\n]}', "values"),
    ('{"a": [1, 2\n{"a": [1, 2]}\n', "lines"),
    ('{"a": [{"b": 1},\n{"a": [{"b": 1}]}\n', "lines"),
    ('{"a": "x\n{"a": "x"}\n', "lines"),
    ('{"a": NaN}\n{"a": 2}\n', "lines"),
    ('{"a": 1}\n{"a": 2}', "lines"),
    ('{"a": 1\n}', "values"),
    ('{"a": 1}\n{"a": [\n{"b": 1}]}\n{"a": 2}', "values"),
    ('{"a": 1}\n{"a": [\n{"b": 1}\n', "lines"),
    ('{\n{"a": 1}\n{"a": 2}\n', "lines"),
])  # fmt: skip
def test_lines_and_printed_values_are_told_apart(text: str, kind: str) -> None:
    assert shape(text.encode()) == kind


@pytest.mark.parametrize("size", [70_000, 3 << 20])
@pytest.mark.parametrize("spaced", [True, False])
def test_a_long_first_line_hides_nothing(tmp_path: Path, size: int, spaced: bool) -> None:
    """The newline that tells stands beyond what is looked at first."""
    record = {"text": "x" * size, "all": [{"n": 1}, {"n": 2}]}
    assert cut(objects_begin_lines(record), tmp_path) == [record]
    two = [record, record]
    assert cut("\n".join(json.dumps(one) for one in two) + "\n" * spaced, tmp_path) == two


@pytest.mark.parametrize("form", FORMS)
def test_our_own_record_in_every_form(door: Door, form: str) -> None:
    said = door.take("t.json", FORMS[form](passing()))
    assert said.code == 0, said
    assert door.one("SELECT passed FROM traces") == 1


@pytest.mark.parametrize("form", FORMS)
def test_our_own_records_in_every_form(door: Door, form: str) -> None:
    assert door.take("t.json", FORMS[form](list(many(3)))).code == 0
    assert door.one("SELECT count(*) FROM traces") == 3


def _samples() -> dict[str, Path]:
    """A file of every format and dialect under tests/data: the smallest of each folder."""
    found: dict[str, Path] = {}
    for path in sorted(DATA.rglob("*")):
        if not path.is_file() or path.suffix not in (".json", ".jsonl", ".traj", ".atif"):
            continue
        if not 2 < path.stat().st_size < 400_000 or "oracles" in path.parts:
            continue
        unit = claim(path, inside=True)
        if unit is None or unit.reader is None:
            continue
        key = f"{unit.reader.name} {path.parent.relative_to(DATA)} {path.suffix}"
        before = found.get(key)
        if before is None or path.stat().st_size < before.stat().st_size:
            found[key] = path
    return found


SAMPLES = _samples()


def test_every_format_has_a_sample() -> None:
    from reviewer.importing.formats import foreign_readers

    names = {key.split()[0] for key in SAMPLES}
    # Pages, archives, logs, streams and databases are no JSON documents that anybody prints
    # otherwise.
    others = {"webarena", "hal", "agentevals", "vercel-ai-stream"}
    others |= {
        "crewai-db",
        "deepeval-db",
        "goose-db",
        "google-adk-db",
        "openai-agents-db",
        "opencode-db",
        "promptfoo-db",
    }
    assert {one.name for one in foreign_readers()} - names <= others


def read(path: Path) -> list[Any]:
    """What its reader makes of a file: attempts, and why not."""
    unit = claim(path)
    assert unit is not None
    if unit.reader is None:
        return [unit.problem]
    if by_document(unit.reader):
        source = Source(path, "c", unit.companions)
        try:
            made = list(unit.reader.traces(source))
        except Unreadable:
            return [unit.reader.name, "unreadable"]
        return [unit.reader.name, *(_plain(one) for one in made)]
    with path.open("rb") as handle:
        pieces = [piece.raw for piece in pieces_of(handle)]
    return [unit.reader.name, *(_plain(unit.reader.read(raw, "c")) for raw in pieces)]  # type: ignore[union-attr]


def _plain(one: Any) -> Any:
    if not isinstance(one, Foreign):
        return one
    return one.verdict, one.suite, json.loads(one.raw)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", SAMPLES)
def test_every_format_is_read_alike_in_every_form(tmp_path: Path, key: str, form: str) -> None:
    """The whole folder is moved, so that what stands beside a file still does."""
    here = SAMPLES[key]
    home = tmp_path / here.parent.name
    shutil.copytree(here.parent, home)
    path = home / here.name
    wanted = read(path)
    try:
        text = FORMS[form](parse(path.read_bytes()))
    except NotJson:
        some = [parse(line) for line in path.read_bytes().splitlines() if line.strip()]
        text = "\n".join(FORMS[form](one) for one in some)
    path.write_text(text, encoding="utf-8", newline="")
    assert read(path) == wanted


json_like = st.one_of(
    st.text('{}[]":,-0123456789tfnNIaelrusyi. \t\r\n\ufeff', max_size=6).map(str.encode),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
        max_leaves=3,
    ).map(lambda value: f" {json.dumps(value)}\n".encode()),
)


@given(json_like, st.sampled_from((b"", b"\xef\xbb\xbf")))
def test_what_is_no_json_by_its_ends_is_none(raw: bytes, mark: bytes) -> None:
    try:
        parse(mark + raw)
    except NotJson:
        return
    assert not surely_no_json(mark + raw)


texts = st.text('{[]}"\\\\ a', max_size=80)


@given(texts, texts, st.integers(1, 2 * MAX_DEPTH))
def test_brackets_in_texts_are_no_depth(text: str, other: str, levels: int) -> None:
    noise = json.dumps([text, "[" * 99, other])
    assert deep(f"{'[' * levels}{noise}{']' * levels}".encode()) is (levels >= MAX_DEPTH)
