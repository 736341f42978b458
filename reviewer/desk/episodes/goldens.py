"""Make an episode from one golden record. Its answers are kept for comparison and never required:
each is one good wording among many."""

from pathlib import Path
from typing import Any

from reviewer.desk.episodes.target import target_of
from reviewer.desk.episodes.views import MadeOfGolden
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import DeskState
from reviewer.desk.workspace.suite_making import GOLDEN_LISTS
from reviewer.desk.workspace.suite_records import SourceRecord, digest_of, head_of, records_of
from reviewer.exit_codes import ExitCode
from reviewer.suite.derived import NoContract, golden
from reviewer.suite.errors import id_problem, shown
from reviewer.suite.values import EPISODES

MADE_BY = "reviewer episode from-golden"
_WORDINGS = ("message_contains", "message_excludes")


def made_of_golden(
    opened: DeskState, file: Path, wanted: str, episode_id: str, into: str, out: str
) -> MadeOfGolden:
    """Make an episode from a record of `file`, by its number or id, and write it. Raises
    DeskError."""
    number, record = _picked(file, list(records_of(file, GOLDEN_LISTS, head_of(file))), wanted)
    place = f"{file}: {record.place}"
    try:
        if record.problem:
            raise NoContract(record.problem)
        drafted = golden.contract_of(record.value, number)
    except NoContract as why:
        raise DeskError(f"{place}: {why}", "fix the record there, or name another one") from None
    episode, notes = dict(drafted.episode), list(drafted.notes)
    expected: dict[str, Any] = dict(episode.get("expected", {}))
    held = {name: expected.pop(name) for name in _WORDINGS if name in expected}
    said = held.get("message_contains", ())
    if said and "message_reference" not in expected:
        expected["message_reference"] = "\n".join(said)
    if held:
        notes.append("wordings are compared with (message_reference) or shown, never required")
    if not episode.get("tools") and not expected.keys() - {"message_reference"}:
        raise DeskError(
            f"{place}: expects only words: any attempt would pass an episode without a call or "
            "an end state",
            "add the calls or the end state that are expected",
            "reviewer suite from-golden requires short answers",
        )
    name = episode_id or episode["episode_id"]
    if (reason := id_problem(name)) is not None:
        raise DeskError(f"{shown(name)}: {reason}", "--id names the episode")
    sha256 = digest_of(file)
    source: dict[str, Any] = {"made_by": MADE_BY, "sha256": sha256, "record": record.place}
    if held:
        source["wordings"] = held
    made = {**episode, "episode_id": name, "expected": expected, "source": source}
    target = target_of(opened, into, out, name)
    problems = target.write(made, None, sha256)
    return MadeOfGolden(
        suite_id=target.suite_id,
        episode_id=name,
        file=str(target.folder / EPISODES / f"{name}.json"),
        notes=tuple(notes),
        problems=tuple(problems),
    )


def _picked(file: Path, records: list[SourceRecord], wanted: str) -> tuple[int, SourceRecord]:
    named = [golden.named(one.value) if isinstance(one.value, dict) else "" for one in records]
    found = [
        (number, one)
        for number, (one, name) in enumerate(zip(records, named, strict=True), 1)
        if not wanted or wanted in (str(number), name)
    ]
    if len(found) != 1:
        told = "no record" if not found else f"{len(found)} records"
        listed = ", ".join(f"{n} ({shown(name)})" for n, name in enumerate(named[:12], 1))
        raise DeskError(
            f"{file}: {told} of that name" if wanted else f"{file}: holds {told}",
            f"--record names one: {listed}",
            exit_code=ExitCode.USAGE,
        )
    return found[0]
