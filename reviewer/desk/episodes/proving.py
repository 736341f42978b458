"""The proof of an episode made from a trace: the recorded attempt fails by its marks; the corrected
attempt passes, also with its reads in another order and with other volatile arguments; and an
attempt that only says the final words fails."""

import asyncio
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from reviewer.desk.episodes.views import Proof, ProofRun
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.trials.freezing import to_be_frozen
from reviewer.desk.trials.judging import contract_of
from reviewer.gates import Verdict, score
from reviewer.importing.recorded.episode import MADE_BY
from reviewer.importing.recorded.turns import (
    CORRECTED,
    RECORDED,
    calls_in,
    digest_of,
    words_alone,
)
from reviewer.importing.scored import TargetSuite
from reviewer.running.attempt import run_attempt
from reviewer.running.model import Offer, Slot, Task, Unrunnable
from reviewer.running.offer import offer_of
from reviewer.running.trial.play import Granting
from reviewer.suite.candidate import Candidate
from reviewer.suite.errors import ContractError, shown
from reviewer.suite.folder import PROOFS, read_bytes, read_suite
from reviewer.suite.model import Episode, Suite
from reviewer.suite.script import Script, read_script
from reviewer.suite.strict_json import sha256_hex
from reviewer.suite.toolset import Toolset, equipped
from reviewer.trace.validate import decode

VARIED = 3
"""How often the corrected attempt is played with shuffled reads and new volatile arguments."""
_SCRIPT = "candidates/scripts/proof.json"
_OF_ACTS = ("authority", "state", "process")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:)(\d\d)(.*)\Z", re.S)

Turns = list[dict[str, Any]]


class _Ran(NamedTuple):
    verdict: Verdict
    termination: str
    errors: tuple[str, ...]


def proof_of(folder: Path, episode_id: str) -> Proof:
    """Return the proof of one episode. Raises DeskError."""
    try:
        loaded = read_suite(folder)
    except ContractError as error:
        raise DeskError(str(error), f"reviewer suite check {folder.name}") from error
    return proof_in(loaded.suite, loaded.toolset, folder, episode_id)


def proof_in(suite: Suite, toolset: Toolset | None, folder: Path, episode_id: str) -> Proof:
    """Return the proof of one episode of a suite, whose scripts are in `folder`. Raises
    DeskError."""
    episode = next((one for one in suite.episodes if one.episode_id == episode_id), None)
    if episode is None:
        known = ", ".join(shown(one.episode_id) for one in suite.episodes)
        raise DeskError(f"{folder.name}: has no episode {shown(episode_id)}", f"it has {known}")
    try:
        plans = _plans(folder, episode_id)
        whole = equipped(episode, toolset)
        offer = offer_of(suite.episodes, toolset)
        with ThreadPoolExecutor(1) as thread:  # the caller's thread may already have an event loop
            runs = thread.submit(asyncio.run, _proven(suite, whole, offer, plans)).result()
    except (ContractError, Unrunnable) as error:
        raise refusal_of(error) from error
    return Proof(
        suite_id=suite.suite_id,
        episode_id=episode_id,
        proven=all(run.holds for run in runs),
        runs=tuple(runs),
    )


def prove_before_freeze(folder: Path, again: bool) -> None:
    """Prove every episode made from a trace in the suite to be frozen; `again` says that it is
    frozen under a new id. Raises DeskError for an episode that is not proven."""
    content = to_be_frozen(folder, again)
    if content is None:
        return  # freezing itself will refuse it
    suite, toolset = content
    for episode in suite.episodes:
        source = episode.source
        if not isinstance(source, dict) or source.get("made_by") != MADE_BY:
            continue
        proof = proof_in(suite, toolset, folder, episode.episode_id)
        bad = next((run for run in proof.runs if not run.holds), None)
        if bad is not None:
            raise DeskError(
                f"{folder.name}: not frozen, since {shown(episode.episode_id)} is not proven: "
                f"{bad.plan}: {bad.why}",
                f"reviewer episode prove {folder.name} {shown(episode.episode_id)} shows its runs",
                "fix the episode, or the corrected script in candidates/proofs",
            )


def _plans(folder: Path, episode_id: str) -> dict[str, Turns]:
    """Return the turns of each plan in the stored script. Raises DeskError."""
    path = folder / PROOFS / f"{episode_id}.json"
    file = f"{folder.name}/{PROOFS}{shown(episode_id)}.json"
    if not path.is_file():
        raise DeskError(
            f"{file}: is missing: a proof needs the scripts of the recorded attempt and of the "
            "corrected one",
            "reviewer episode from-trace writes them with the episode",
        )
    data = read_bytes(path)
    read_script(data, file)
    plans = json.loads(data)["episodes"].get(episode_id, {}).get("plans", {})
    for name in (RECORDED, CORRECTED):
        if name not in plans:
            raise DeskError(
                f"{file}: $.episodes.{shown(episode_id)}.plans: has no {name}",
                "reviewer episode from-trace writes both with the episode",
            )
    return {name: plan["turns"] for name, plan in plans.items()}


async def _proven(
    suite: Suite, episode: Episode, offer: Offer, plans: Mapping[str, Turns]
) -> list[ProofRun]:
    source: Mapping[str, Any] = episode.source if isinstance(episode.source, dict) else {}
    varied = [varied_turns(episode, source, plans[CORRECTED], seed) for seed in range(VARIED)]
    nothing = words_alone(plans[CORRECTED])  # whatever the file says: it might do something
    played = [plans[RECORDED], plans[CORRECTED], *varied, nothing]
    ran = [await _ran(suite, episode, offer, turns) for turns in played]
    known = source.get("recorded_sha256")
    replaced = known is not None and known != digest_of(plans[RECORDED])
    return [
        _replaced(ran[0]) if replaced else _fails(episode, source, ran[0]),
        _corrected(episode, source, plans, ran[1]),
        _passes("varied", ran[2:-1]),
        _does_nothing(source, ran[-1]),
    ]


async def _ran(suite: Suite, episode: Episode, offer: Offer, turns: Turns) -> _Ran:
    plan = {"proof": {"turns": turns}}
    script = {
        "schema": Script.SCHEMA,
        "episodes": {episode.episode_id: {"plans": plan, "attempts": [{"plan": "proof"}]}},
    }
    data = json.dumps(script).encode()
    with tempfile.TemporaryDirectory(prefix="reviewer-proof-") as folder:
        path = Path(folder) / _SCRIPT
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        runner = {"kind": "scripted", "script": _SCRIPT, "script_sha256": sha256_hex(data)}
        task = Task(
            slot=Slot(suite.suite_id, "proof", episode.episode_id, 1),
            episode=episode,
            candidate=Candidate(candidate_id="proof", digest="", agent="proof", runner=runner),
            redaction=suite.redaction,
            folder=folder,
            offer=offer,
            approvals="allow",
        )
        done = await run_attempt(task, Granting())
    record = decode(done.raw)
    checked = TargetSuite(suite).checked(record, done.raw)
    contract = contract_of(episode, suite.policy.limits, suite.check_names)
    verdict = score(contract, record, checked=checked)
    events = json.loads(done.raw)["events"]
    errors = tuple(str(one.get("message")) for one in events if one["kind"] == "error")
    return _Ran(verdict, record.termination or "", errors)


def _failing(ran: _Ran) -> list[tuple[str, str]]:
    return list(
        dict.fromkeys(
            (one.gate, one.code)
            for one in ran.verdict.findings
            if one.severity in ("critical", "fail")
        )
    )


def _fails(episode: Episode, source: Mapping[str, Any], ran: _Ran) -> ProofRun:
    """Return the result of the recorded attempt, which must fail by a mark and by nothing else."""
    found = _failing(ran)
    codes = tuple(code for _, code in found)
    marked = _marked_codes(episode, source)
    by_mark = [code for _, code in found if _is_one_of(code, marked)]
    other = [code for gate, code in found if gate not in _OF_ACTS]
    why, holds = f"fails by {', '.join(by_mark)}", True
    if ran.verdict.passed is not False:
        holds, why = False, "does not fail: " + (_unmeasured(ran) or "no mark says what is wrong")
    elif not by_mark:
        holds, why = False, "fails, but not on a marked event"
    elif other:
        holds, why = False, f"also fails by {', '.join(other)}, which no mark names"
    return ProofRun(plan="recorded", wanted="fails", runs=1, holds=holds, codes=codes, why=why)


def _replaced(ran: _Ran) -> ProofRun:
    codes = tuple(code for _, code in _failing(ran))
    why = "is not the attempt that was recorded: only the corrected script may be edited"
    return ProofRun(plan="recorded", wanted="fails", runs=1, holds=False, codes=codes, why=why)


def _made_again(
    episode: Episode, source: Mapping[str, Any], plans: Mapping[str, Turns]
) -> str | None:
    """Return a tool of which a call was marked wrong, and of which the corrected attempt makes all
    recorded calls although none is required."""
    for tool in source.get("wrong_tools", ()):
        made = [
            Counter(
                json.dumps(arguments, sort_keys=True)
                for called, arguments in calls_in(plans[plan])
                if called == tool
            )
            for plan in (RECORDED, CORRECTED)
        ]
        if made[0] and made[0] <= made[1] and tool not in episode.tools.required:
            return str(tool)
    return None


def _corrected(
    episode: Episode, source: Mapping[str, Any], plans: Mapping[str, Turns], ran: _Ran
) -> ProofRun:
    """Return the result of the corrected attempt, which must pass, and without what was marked
    wrong."""
    run = _passes("corrected", [ran])
    tool = _made_again(episode, source, plans) if run.holds else None
    if tool is None:
        return run
    why = f"makes every recorded call of {shown(tool)}, of which one was marked wrong"
    return replace(run, holds=False, why=why)


def _marked_codes(episode: Episode, source: Mapping[str, Any]) -> list[str]:
    """Return the codes, or their beginnings, by which the marked events fail."""
    wrong = [*source.get("wrong_tools", ()), *episode.tools.forbidden]
    codes = [f"{head}:{tool}" for tool in wrong for head in ("forbidden", "not_allowed")]
    for tool in episode.tools.required:
        codes += [f"missing:{tool}", f"wrong_argument:{tool}"]
    codes += [f"wrong_state:{path}" for path in episode.expected.at_paths]
    marks = source.get("marks") or {}
    codes += ["message_forbidden:"] if marks.get("never_say") else []
    codes += ["message_missing:"] if marks.get("say") else []
    return [*codes, "write_not_verified"]


def _is_one_of(code: str, marked: Iterable[str]) -> bool:
    return any(
        code == one or (one.endswith(":") and code.startswith(one)) or code.startswith(f"{one}.")
        for one in marked
    )


def _unmeasured(ran: _Ran) -> str:
    if ran.termination in ("world_gap", "world_broke", "user_error", "infrastructure_error"):
        return f"{ran.termination}: {'; '.join(ran.errors)}"
    codes = [one.code for one in ran.verdict.findings if one.severity == "not_measured"]
    return f"not measured: {', '.join(codes)}" if ran.verdict.passed is None and codes else ""


def _passes(plan: Any, runs: list[_Ran]) -> ProofRun:
    bad = next((one for one in runs if one.verdict.passed is not True), None)
    codes = () if bad is None else tuple(code for _, code in _failing(bad))
    why = "passes"
    if bad is not None:
        why = "does not pass: " + (_unmeasured(bad) or ", ".join(codes))
    return ProofRun(
        plan=plan, wanted="passes", runs=len(runs), holds=bad is None, codes=codes, why=why
    )


def _does_nothing(source: Mapping[str, Any], ran: _Ran) -> ProofRun:
    codes = tuple(code for _, code in _failing(ran))
    accepted = source.get("accepted")
    reason = accepted.get("nothing") if isinstance(accepted, dict) else None
    holds, why = True, f"fails by {', '.join(codes)}"
    if ran.verdict.passed is not False:
        holds, why = isinstance(reason, str) and bool(reason.strip()), "passes"
        if holds:
            why = f"passes, which its author accepts: {shown(str(reason), 300)}"
        elif ran.verdict.passed is None:
            why = _unmeasured(ran) or "is not measured"
        else:
            why = (
                "passes without a call: require one, or accept this with a reason "
                "(--accept-nothing)"
            )
    return ProofRun(plan="nothing", wanted="fails", runs=1, holds=holds, codes=codes, why=why)


# Variations of the corrected attempt.


def varied_turns(episode: Episode, source: Mapping[str, Any], turns: Turns, seed: int) -> Turns:
    """Return turns with independent reads in another order, and with new values for the volatile
    arguments."""
    drawn = random.Random(seed)
    tools: Mapping[str, Any] = (episode.simulator or {}).get("tools") or {}
    volatile = source.get("volatile")
    loose: Mapping[str, Any] = volatile if isinstance(volatile, dict) else {}
    free = {
        name for name, told in tools.items() if not told.get("effects") and not told.get("faults")
    }
    made = []
    for turn in turns:
        calls = [
            {**call, "arguments": _fresh(call, loose.get(call["tool"], ()), drawn)}
            for call in turn.get("calls", ())
        ]
        made.append({**turn, "calls": _shuffled(calls, free, drawn)} if calls else turn)
    return made


def _shuffled(calls: Turns, free: set[str], drawn: random.Random) -> Turns:
    """Return the calls, with each run of reads between two other calls in another order."""
    made: Turns = []
    run: Turns = []
    for call in calls:
        if call["tool"] in free:
            run.append(call)
            continue
        drawn.shuffle(run)
        made += [*run, call]
        run = []
    drawn.shuffle(run)
    return made + run


def _fresh(call: Mapping[str, Any], names: Iterable[str], drawn: random.Random) -> dict[str, Any]:
    arguments = dict(call.get("arguments", {}))
    for name in names:
        if name in arguments:
            arguments[name] = _other(arguments[name], drawn)
    return arguments


def _other(value: Any, drawn: random.Random) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    if not isinstance(value, str):
        return value + drawn.randint(1, 9)
    time = _TIME.match(value)
    if time is not None:
        return f"{time[1]}{(int(time[2]) + drawn.randint(1, 9)) % 60:02}{time[3]}"
    if _ID.fullmatch(value) or re.fullmatch(r"[0-9A-Fa-f]{16,}|[0-9A-HJKMNP-TV-Z]{26}", value):
        digits = "0123456789abcdef" if value.lower() == value else "0123456789ABCDEF"
        return "".join(one if one == "-" else drawn.choice(digits) for one in value)
    return f"{value} ({drawn.randint(2, 99)})"
