"""An eval case of Google's Agent Development Kit as a contract.

A case is a conversation: the user's messages turn by turn, and for each turn the calls and the
final response that are expected. ADK compares the calls of each turn and scores the response
(ROUGE, a model's opinion), so calls are gated and a response is only compared with. Members are
read in both spellings, `user_content` and `userContent`. The list in an older `*.test.json` is one
conversation.
"""

import re
from typing import Any, NamedTuple

from reviewer.suite.derived import ContractDraft, NoContract
from reviewer.suite.derived.golden import GoldenCall, Match, calls_of, text_of

WHOLE_SESSION = (
    "a conversation of several turns: ADK compares the calls of each turn, here those of the whole "
    "session are compared"
)
LAST_RESPONSE = (
    "final responses are compared with (message_reference), never required; of several turns the "
    "last one's"
)
STATE = (
    "the session's state is the episode's initial state: a trace must have its digest "
    "(reviewer suite start-digest)"
)
END_STATE = "final_session_state is required of the final state, which ADK itself does not compare"
RUBRICS = "rubrics are for people: in suite.json under source, asked by the rubric"
PROGRESS = "intermediate responses of sub-agents are not compared"
SCENARIO = "the user is simulated by a plan (conversation_scenario): nothing is expected of calls"
SHOWN = (
    "the configuration does not compare calls (no tool_trajectory_avg_score): they are only shown; "
    "--match requires them"
)
IN_ORDER = (
    "IN_ORDER lets other calls come between: the tools are required in order, their arguments in "
    "any order"
)
TRAJECTORY = "tool_trajectory_avg_score"
_PLAIN = re.compile(r"[^.\[\]]+\Z")


class Criteria(NamedTuple):
    """How an eval set is graded: whether and how calls are compared, the share of turns and runs
    that must agree, and rubrics that all cases share (id, text)."""

    compared: bool = True
    match: Match = "strict"
    in_order: bool = False
    threshold: float = 1.0
    rubrics: tuple[tuple[str, str], ...] = ()

    def average(self) -> str:
        """Return the note on a threshold below 1, "" without one."""
        if not self.compared or self.threshold >= 1:
            return ""
        return (
            f"{TRAJECTORY} passes at {self.threshold:g} of turns and runs: here the calls of every "
            "session must agree (policy.hard_pass_rate sets the share of attempts)"
        )


EXACT = Criteria()
"""ADK's grading of an eval set without a configuration."""


def criteria_of(config: Any) -> Criteria:
    """Return the criteria in a test_config.json. Raises ValueError for an invalid one."""
    listed = config.get("criteria") if isinstance(config, dict) else None
    if not isinstance(listed, dict):
        raise ValueError("has no criteria, so it is not a configuration of an ADK eval")
    rubrics = [
        (text_of(_member(rubric, "rubric_id")), _said(rubric))
        for criterion in listed.values()
        if isinstance(held := _member(criterion, "rubrics"), list)
        for rubric in held
    ]
    told = tuple(dict.fromkeys(one for one in rubrics if all(one)))
    if TRAJECTORY not in listed:
        return Criteria(compared=False, rubrics=told)
    asked = listed[TRAJECTORY]
    kind = re.sub(r"[\s-]", "_", text_of(_member(asked, "match_type")).upper())
    known = {"": 0, "EXACT": 0, "0": 0, "IN_ORDER": 1, "1": 1, "ANY_ORDER": 2, "2": 2}.get(kind)
    if known is None:
        raise ValueError(f"{TRAJECTORY} has a match_type that is not known: {kind[:40]}")
    least = _member(asked, "threshold") if isinstance(asked, dict) else asked
    number = isinstance(least, (int, float)) and not isinstance(least, bool)
    threshold = float(least) if number else 1.0
    return Criteria(True, "superset" if known else "strict", known == 1, threshold, told)


def questions_of(criteria: Criteria) -> list[dict[str, Any]]:
    """Return the criteria of a rubric for the shared rubrics."""
    found: dict[str, dict[str, Any]] = {}
    for name, text in criteria.rubrics:
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "rubric"
        slug = slug if slug not in found else f"{slug[:50]}-{len(found) + 1}"
        found[slug] = {
            "criterion_id": slug,
            "title": " ".join(name.split())[:80],
            "asks": " ".join(text.split())[:1000],
            "scale": "binary",
            "levels": [{"value": 1, "label": "yes"}, {"value": 2, "label": "no"}],
        }
    return list(found.values())


def turns_of(values: list[Any]) -> dict[str, Any]:
    """Return the turns of an older `*.test.json`, a list of queries, as one eval case."""
    return {"data": values}


def is_turn(value: Any) -> bool:
    """Return whether a value is one turn of an older `*.test.json`."""
    return isinstance(value, dict) and "query" in value and "data" not in value


def named(case: dict[str, Any]) -> str:
    """Return the case's id, "" when it has none."""
    found = _member(case, "eval_id")
    return text_of(case.get("name") if found is None else found)


def contract_of(case: Any, name: str, criteria: Criteria = EXACT) -> ContractDraft:
    """Return the contract of one eval case. `name` is its id where it has none that can be a
    file's name; `criteria` say how made calls are compared with the expected ones. Raises
    NoContract."""
    if not isinstance(case, dict):
        raise NoContract("is no object")
    notes: list[str] = []
    turns = _turns(case)
    steps = [call for turn in turns for call in _calls(turn)]
    expected: dict[str, Any] = {}
    tools: dict[str, Any] = {}
    if steps:
        expected["trajectory"] = [step.step() for step in steps]
        if criteria.compared:
            expected["trajectory_match"] = criteria.match
            tools = _required(steps, criteria, notes)
        else:
            notes.append(SHOWN)
        if criteria.compared and len(turns) > 1:
            notes.append(WHOLE_SESSION)
    _end(case, expected, notes)
    if reference := _response(turns[-1]) if turns else "":
        expected["message_reference"] = reference
        notes.append(LAST_RESPONSE)
    shown = _rubrics(case, turns, notes)
    if not tools and not expected.keys() & {"trajectory_match", "state"}:
        uncompared = SHOWN if steps else ""
        raise NoContract(uncompared or _why_empty(case, turns, reference, bool(shown)))
    if any(_progress(turn) for turn in turns):
        notes.append(PROGRESS)
    state = _state(case)
    if state:
        notes.append(STATE)
    episode = {
        "schema": "reviewer/episode@1",
        "episode_id": _id(case, name, notes),
        "user_request": _request(turns),
        "initial_state": state,
        "tools": tools,
        "expected": expected,
    }
    kept = {member: value for member, value in episode.items() if value not in ("", {}, [])}
    return ContractDraft(kept, shown, tuple(notes))


def _required(steps: list[GoldenCall], criteria: Criteria, notes: list[str]) -> dict[str, Any]:
    if average := criteria.average():
        notes.append(average)
    if criteria.match == "subset":
        return {}
    names = list(dict.fromkeys(step.tool for step in steps))
    if not criteria.in_order:
        return {"required": names, "order": "any"}
    notes.append(IN_ORDER)
    return {"required": names, "order": "in_order"}


def _member(value: Any, name: str) -> Any:
    """Return a member in either spelling, None when it is missing."""
    if not isinstance(value, dict):
        return None
    if value.get(name) is not None:
        return value[name]
    head, *rest = name.split("_")
    return value.get(head + "".join(part.capitalize() for part in rest))


def _id(case: dict[str, Any], name: str, notes: list[str]) -> str:
    found = named(case)
    if "/" not in found and "\\" not in found and found:
        return found
    notes.append("its id is a path or absent: named by its file and place")
    return name


def _turns(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the turns. Raises NoContract for an invalid value."""
    listed = _member(case, "conversation")
    if listed is None:
        listed = case.get("data")
    if listed is None and _member(case, "conversation_scenario") is not None:
        return []
    if not isinstance(listed, list) or not listed:
        raise NoContract("is not an eval case: it has no conversation")
    for number, turn in enumerate(listed):
        known = isinstance(turn, dict) and (
            "query" in turn or _member(turn, "user_content") is not None
        )
        if not known:
            raise NoContract(f"conversation[{number}] has no user_content")
    return listed


def _calls(turn: dict[str, Any]) -> list[GoldenCall]:
    """Return the calls that a turn expects: tool uses, those among its events, or older ones."""
    data = _member(turn, "intermediate_data")
    for value, member in (
        (turn.get("expected_tool_use"), "expected_tool_use"),
        (_member(data, "tool_uses"), "tool_uses"),
    ):
        if value:
            return calls_of(value, member)
    events = _member(data, "invocation_events")
    found = []
    for event in events if isinstance(events, list) else ():
        for part in _parts(_member(event, "content")):
            if (call := _member(part, "function_call")) is not None:
                found += calls_of([call], "invocation_events: a function_call")
    return found


def _parts(content: Any) -> list[Any]:
    parts = _member(content, "parts")
    return parts if isinstance(parts, list) else []


def _text(content: Any) -> str:
    """Return the text of a content, without its thoughts."""
    said = [_member(part, "text") for part in _parts(content) if not _member(part, "thought")]
    return "\n".join(text for text in said if isinstance(text, str)).strip()


def _asked(turn: dict[str, Any]) -> str:
    return text_of(turn.get("query")) or _text(_member(turn, "user_content"))


def _response(turn: dict[str, Any]) -> str:
    return text_of(turn.get("reference")) or _text(_member(turn, "final_response"))


def _progress(turn: dict[str, Any]) -> bool:
    said = _member(_member(turn, "intermediate_data"), "intermediate_responses")
    return bool(said or turn.get("expected_intermediate_agent_responses"))


def _request(turns: list[dict[str, Any]]) -> str:
    asked = [_asked(turn) for turn in turns]
    if len(asked) < 2:
        return "".join(asked)
    return "\n".join(f"Turn {number}: {text}" for number, text in enumerate(asked, 1))


def _state(case: dict[str, Any]) -> dict[str, Any]:
    state = _member(_member(case, "session_input"), "state")
    if state is None:
        state = _member(case.get("initial_state"), "session")
        state = _member(state, "state") if isinstance(state, dict) and "state" in state else state
    return state if isinstance(state, dict) else {}


def _end(case: dict[str, Any], expected: dict[str, Any], notes: list[str]) -> None:
    """Require the members of the final state that the case names."""
    end = _member(case, "final_session_state")
    if not isinstance(end, dict) or not end:
        return
    if odd := [name for name in end if not _PLAIN.match(name)]:
        raise NoContract(f"final_session_state has a name that is no path here: {odd[0][:80]}")
    expected["state"] = end
    notes.append(END_STATE)


def _rubrics(
    case: dict[str, Any], turns: list[dict[str, Any]], notes: list[str]
) -> dict[str, list[str]]:
    texts = []
    for holder in (case, *turns):
        listed = _member(holder, "rubrics")
        texts += [_said(rubric) for rubric in (listed if isinstance(listed, list) else ())]
    kept = list(dict.fromkeys(text for text in texts if text))
    if kept:
        notes.append(RUBRICS)
    return {"rubrics": kept} if kept else {}


def _said(rubric: Any) -> str:
    return text_of(_member(_member(rubric, "rubric_content"), "text_property"))


def _why_empty(
    case: dict[str, Any], turns: list[dict[str, Any]], reference: str, rubrics: bool
) -> str:
    ways = "name the tools to be called (tool_uses) or the end (final_session_state)"
    if _member(case, "conversation_scenario") is not None:
        return f"{SCENARIO}; {ways}"
    if rubrics:
        return f"expects no call, only what rubrics ask, which is for people; {ways}"
    if reference:
        return f"expects no call, only a response, which no gate can check; {ways}"
    return f"expects no call and no response in {len(turns)} turns: any trace would pass; {ways}"
