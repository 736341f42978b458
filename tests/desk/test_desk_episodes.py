"""Episodes of generated worlds: whatever was recorded of one, its proof holds, and the world made
of the record answers as it did."""

import contextlib
import copy
import json
import tempfile
from pathlib import Path
from typing import Any

from doors import SUITE, V7, Door
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reviewer.desk.episodes.views import EpisodeOrder, MadeFromTrace, Marks
from reviewer.desk.errors import DeskError

IDS = ("A1", "B2", "C3")
FIELDS = ("state", "note", "size")
VALUES = st.sampled_from(["open", "shut", 3, 4.5, True, ["x"], {"deep": 1}])


class Shop:
    """The real environment that a trace records: things that are read, set, taken away, polled."""

    def __init__(self) -> None:
        self.things: dict[str, dict[str, Any]] = {
            name: {"thing_id": name, "state": "open", "note": "n", "size": 1, "tags": ["t"]}
            for name in IDS
        }
        self.polls = 0
        self.requests = 0

    def call(self, tool: str, **told: Any) -> dict[str, Any]:
        status, answer = "ok", None
        if tool == "get_thing":
            answer = copy.deepcopy(self.things[told["thing_id"]])
        elif tool == "set_thing":
            self.things[told["thing_id"]][told["field"]] = told["value"]
            answer = copy.deepcopy(self.things[told["thing_id"]])
            self.requests += 1
            told["request_id"] = f"{self.requests:08x}-0000-4000-8000-{self.requests:012x}"
        elif tool == "drop_tags":
            self.things[told["thing_id"]].pop("tags", None)
            answer = {"dropped": True}
        elif tool == "job_status":
            self.polls += 1
            answer = {"job": told["job"], "polls": self.polls}
        elif tool == "find_thing":
            status, answer = "error", {"error": f"no thing is named {told['name']}"}
        event = {"kind": "tool_call", "tool": tool, "arguments": told, "status": status}
        return {**event, "observation": answer}


sets = st.tuples(
    st.just("set_thing"),
    st.fixed_dictionaries(
        {"thing_id": st.sampled_from(IDS), "field": st.sampled_from(FIELDS), "value": VALUES}
    ),
)
acts = st.one_of(
    st.tuples(st.just("get_thing"), st.fixed_dictionaries({"thing_id": st.sampled_from(IDS)})),
    sets,
    st.tuples(st.just("drop_tags"), st.fixed_dictionaries({"thing_id": st.sampled_from(IDS)})),
    st.tuples(st.just("find_thing"), st.fixed_dictionaries({"name": st.sampled_from(["x", "y"])})),
)


def recorded(calls: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    shop = Shop()
    asked = {"kind": "message", "actor": "user", "message": "Please mend my things."}
    events = [asked, *(shop.call(tool, **copy.deepcopy(told)) for tool, told in calls)]
    return {
        "schema": "reviewer/trace@1", "episode_id": "things", "candidate_id": "agent",
        "events": events, "final_state": None, "cost_usd": None, "latency_ms": None,
        "final_message": "All is done.",
    }  # fmt: skip


def episode(door: Door, *traces: dict[str, Any], **marks: Any) -> MadeFromTrace:
    for number, one in enumerate(traces):
        door.file(f"{number}.jsonl", [one])
    desk = door.desk()
    try:
        return desk.episodes.from_trace(
            EpisodeOrder(
                source=str(door.root / "0.jsonl"),
                beside=tuple(str(door.root / f"{n}.jsonl") for n in range(1, len(traces))),
                marks=Marks(**marks),
                episode_id="e",
            )
        )
    finally:
        desk.close()


def place(folder: str) -> Door:
    for name in ("suites", "store"):
        (Path(folder) / name).mkdir()
    return Door(Path(folder))


@given(st.lists(acts, max_size=8), sets, st.lists(acts, max_size=5), st.booleans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_proof_of_a_generated_world_holds(
    before: list[Any], wrong: Any, after: list[Any], pooled: bool
) -> None:
    need = ("get_thing", {"thing_id": wrong[1]["thing_id"]})
    calls = [*before, wrong, *after]
    first = [n for n, one in enumerate(calls) if one == need]
    sibling = [recorded([need])] if pooled or not first or first[0] >= len(before) else []
    with tempfile.TemporaryDirectory() as folder:
        door = place(folder)
        main = recorded(calls)
        made = episode(
            door, main, *sibling,
            wrong=(str(len(before) + 2),),
            required=(f"get_thing:{json.dumps(need[1])}",),
            say="I cannot set that.",
        )  # fmt: skip
        desk = door.desk()
        try:
            proof = desk.episodes.prove(made.suite_id, "e")
        finally:
            desk.close()
        written = json.loads(Path(made.file).read_text())
    assert proof.proven, [(run.plan, run.why) for run in proof.runs]
    told = [one["$blank"] for one in written["source"].get("open", ())]
    # A write before the first sight of its thing leaves all that is seen then. Made once more after
    # another write it leaves too much: the world says so, and asks a person.
    again = any(one[0] == "drop_tags" and calls.count(one) > 1 for one in calls)
    assert again or not [one for one in told if "otherwise than the trace" in one], told
    assert made.blanks == len(told), "nothing is left open but what is to be confirmed"


NAMES = st.sampled_from(
    ["id", "a.b", "$blank", "done", "", "email", "items[0]", "x" * 300, "é\u202e"]
)
TEXTS = st.sampled_from(["jane@example.org", '{"a": [1', "4111 1111 1111 1111"])
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
odd_calls = st.fixed_dictionaries(
    {
        "kind": st.just("tool_call"),
        "tool": st.sampled_from(["get_x", "set_x", "done", "a.b", "Bash", "get x", "\u202e"]),
        "arguments": st.dictionaries(NAMES, ANY, max_size=3),
        "status": st.sampled_from(["ok", "ok", "error", "timeout", "denied", "pending"]),
        "observation": ANY,
    }
)


@given(st.lists(odd_calls, min_size=1, max_size=7), st.booleans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_was_recorded_becomes_an_episode_that_can_be_read_or_is_refused(
    calls: list[dict[str, Any]], all_wrong: bool
) -> None:
    record = recorded([])
    record["events"] += calls
    wrong = tuple(str(n) for n in range(2, 2 + len(calls))) if all_wrong else ()
    with tempfile.TemporaryDirectory() as folder:
        door = place(folder)
        try:
            made = episode(door, record, wrong=wrong, say="No.")
        except DeskError:
            assert not list((door.root / "suites").iterdir())
            return
        text = Path(made.file).read_text()
        assert "jane@example.org" not in text
        assert "4111 1111 1111 1111" not in text
        said = door.run("suite", "check", made.suite_id)
        assert "Traceback" not in said.both
        desk = door.desk()
        try:
            with contextlib.suppress(DeskError):
                desk.episodes.prove(made.suite_id, "e")
        finally:
            desk.close()


def test_names_in_the_form_part_at_commas_and_arguments_do_not(full: Door) -> None:
    desk = full.desk()
    typed = {
        "wrong": "2",
        "required": 'lookup_order, open_security_review; verify_state:{"a": 1, "b": 2}',
    }
    try:
        made = desk.episodes.from_form(f"{SUITE}/{V7}/attack-014/1", typed).made
    finally:
        desk.close()
    source = json.loads(Path(made.file).read_text(encoding="utf-8"))["source"]
    assert source["marks"]["required"] == [
        "lookup_order",
        "open_security_review",
        'verify_state:{"a": 1, "b": 2}',
    ]
