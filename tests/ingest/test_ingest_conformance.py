"""`reviewer.testing`: our readers keep its rules, and a reader that breaks one is told."""

import json
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reviewer.importing.draft import Draft
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats import OURS, foreign_readers
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source
from reviewer.testing import broken_rules, check_reader, conformance

sys.path.append(str(Path(__file__).resolve().parents[1] / "fuzz"))

from fuzz_samples import SAMPLES, laid_out

UNREAD = {
    "agentlab": "steps are pickles",
    "hal": "the second attempt has calls without names",
}
"""Formats whose sample holds what nobody can read, so that its attempts are not measured."""
WITHOUT_CALLS = ("jaeger", "openai-evals", "openinference")
EXCERPT = (
    *("no such file", "it gives no attempt", "Import them with"),
    # a batch of an exporter, which begins and ends amid its traces
    *("unread trace (cut off)", "unread spans named as parents (cut off)"),
    # results without the calls that they answer
    *("tool_errors.json: attempt 1: unread results[0].call", "unread results[3].call"),
)
"""What is said of samples that are a part of a run."""


OUR_READERS = pytest.mark.parametrize(
    "reader", foreign_readers()[: len(OURS)], ids=lambda one: one.name
)


@OUR_READERS
def test_our_readers_keep_the_rules(
    reader: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a quarter of the cuts, broken lines and changed calls; tests/fuzz has mutants."""
    monkeypatch.setattr(conformance, "CUTS", 16)
    monkeypatch.setattr(conformance, "MOST_LINES", 10)
    monkeypatch.setattr(conformance, "fewer", partial(conformance.fewer, most=8))
    _kept(reader, tmp_path, mutants=1)


@pytest.mark.nightly
@OUR_READERS
def test_our_readers_keep_the_rules_wherever_they_are_tried(reader: Any, tmp_path: Path) -> None:
    _kept(reader, tmp_path, mutants=20)


def _kept(reader: Any, tmp_path: Path, mutants: int) -> None:
    files = [
        laid_out(sample, tmp_path / str(number))
        for number, sample in enumerate(SAMPLES[reader.name])
    ]
    broken = broken_rules(reader, *files, mutants=mutants)
    found = [
        one
        for one in broken
        if not any(words in one.what for words in EXCERPT)
        and not (reader.name in UNREAD and one.rule == "a real file is read whole")
        and not (reader.name in WITHOUT_CALLS and one.rule == "calls are read")
    ]
    assert found == []


class DiaryReader:
    """Good: a list of (who, words) and calls a day, a line each."""

    name, version, probe = "diary", "1", True
    facts = FormatFacts(by="`diary, day`")

    def sniff(self, head: Any) -> bool:
        return bool(head.has("diary", "day"))

    def suite_id(self, path: Path) -> str:
        return "diary"

    def candidate_id(self, path: Path) -> str:
        return path.stem

    def companions(self, path: Path) -> tuple[Path, ...]:
        return ()

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        for name, value in source.records():
            if isinstance(value, Broken):
                yield value
            else:
                yield source.attempt(partial(self.one, source, value), name)

    def one(self, source: Source, value: Any) -> Foreign:
        draft = Draft("diary")
        for place, line in enumerate(value["diary"]):
            self.line(draft, line, f"diary[{place}]")
        if {*value} - {"diary", "day"}:
            draft.unread("record")
        return draft.foreign(episode_id=str(value["day"]), candidate_id=source.home)

    def line(self, draft: Draft, line: Any, place: str) -> None:
        known = isinstance(line, dict) and {*line} <= {"who", "words", "did", "with"}
        if known and isinstance(line.get("did"), str) and isinstance(line.get("with"), dict):
            draft.call(line["did"], line["with"])
        elif known and isinstance(line.get("who"), str) and isinstance(line.get("words"), str):
            draft.message(line["who"], line["words"])
        else:
            draft.unread(place)


def day(number: int) -> dict[str, Any]:
    return {
        "day": f"day {number}",
        "diary": [
            {"who": "user", "words": "water the plants " * 20},
            {"did": "water", "with": {"plant": number}},
            {"who": "agent", "words": "done"},
        ],
    }


def written(path: Path, count: int) -> None:
    path.write_text("".join(json.dumps(day(number)) + "\n" for number in range(count)))


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    path = tmp_path / "diary.jsonl"
    written(path, 3)
    return path


def test_a_good_reader_passes(diary: Path) -> None:
    check_reader(DiaryReader(), diary, many=written)


class Dropping(DiaryReader):
    def line(self, draft: Draft, line: Any, place: str) -> None:
        if isinstance(line, dict) and "did" in line:
            draft.call(line["did"], line.get("with"))


class Raising(DiaryReader):
    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        for _, value in source.records():
            yield self.one(source, value)


class Greedy(DiaryReader):
    def sniff(self, head: Any) -> bool:
        return True


class Hoarding(DiaryReader):
    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        yield from list(super().traces(source))


class Restless(DiaryReader):
    count = 0

    def one(self, source: Source, value: Any) -> Foreign:
        self.count += 1
        return super().one(source, {**value, "day": f"{value['day']} {self.count}"})


class Telling(DiaryReader):
    def one(self, source: Source, value: Any) -> Foreign:
        return super().one(source, value)._replace(notes=(json.dumps(value),))


class Nameless(DiaryReader):
    name = ""


class Mistaken(DiaryReader):
    def one(self, source: Source, value: Any) -> Foreign:
        return Foreign(json.dumps({"episode_id": "e", "candidate_id": "c"}).encode())


class Partial(DiaryReader):
    def line(self, draft: Draft, line: Any, place: str) -> None:
        draft.unread(place)


@pytest.mark.parametrize(
    ("reader", "rule"),
    [
        (Dropping(), "a call is read, or the attempt is not measured"),
        (Raising(), "a bad file costs a refusal"),
        (Greedy(), "`sniff` claims its own format alone"),
        (Hoarding(), "attempts come one at a time"),
        (Restless(), "reading twice gives the same"),
        (Telling(), "notes and refusals hold no raw values"),
        (Nameless(), "a reader names itself"),
        (Mistaken(), "an attempt is a trace record"),
        (Partial(), "a real file is read whole"),
    ],
)
def test_a_reader_that_breaks_a_rule_is_told(reader: Any, rule: str, diary: Path) -> None:
    many = written if isinstance(reader, Hoarding) else None  # reading 9 MB measures memory alone
    with pytest.raises(AssertionError, match=re.escape(f"{rule}: ")):
        check_reader(reader, diary, many=many, mutants=150)
