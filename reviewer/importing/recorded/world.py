"""The simulated world of an episode, made from the answers of tools in a recorded trace. Pure.

A call gets the recorded answer for its arguments without volatile ones. What a read shows is a part
of the state, so that reads reflect writes. A call whose answer was not recorded is a gap: it ends
an attempt (`"unrecorded": "spoil"`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reviewer.importing.recorded import NotUsable
from reviewer.importing.recorded.effects import DONE, Followed, Slots, patch_of
from reviewer.importing.recorded.keys import Acts, Key, Keys, acts_of, canonical
from reviewer.importing.recorded.marks import Marked, Marks, Need
from reviewer.importing.recorded.offered import Definition
from reviewer.importing.recorded.story import Made, Story
from reviewer.suite.blanks import blank
from reviewer.suite.errors import shown
from reviewer.suite.json_values import frozen, same


class World(NamedTuple):
    """`tools` is the simulator's. `open` are blanks about it for its author, `gaps` what is known
    to be unrecorded, `needs` the required calls with the arguments that were found for them."""

    initial_state: dict[str, Any]
    tools: dict[str, dict[str, Any]]
    open: list[dict[str, Any]]
    gaps: list[dict[str, Any]]
    notes: list[str]
    needs: tuple[Need, ...]
    faults: int
    pooled: list[str]
    final_state: str | None = None
    """The dotted path of the part that an attempt returns as its final state. None: the whole
    state."""


class Builder:
    """Makes the world of one story, with the answers of its siblings where it has none."""

    def __init__(
        self, main: Story, siblings: Iterable[Story], marks: Marks, marked: Marked, keys: Keys
    ) -> None:
        self.main, self.siblings = main, list(siblings)
        self.marks, self.marked, self.keys = marks, marked, keys
        self._slots = Slots()
        self._asked: dict[tuple[str, str], dict[str, Any]] = {}
        self._wrong = {call.tool for call in main.calls if call.seq in marked.wrong}
        self._by_seq = {call.seq: call for call in reversed(main.calls)}
        self._cases: dict[str, list[dict[str, Any]]] = {}
        self._whens: dict[Key, list[Any]] = {}
        self._known_gaps: set[Any] = set()
        self._effects: dict[str, list[dict[str, Any]]] = {}
        self._faults: dict[str, list[dict[str, Any]]] = {}
        self._initial: dict[tuple[str, str], Any] = {}
        self._counted: dict[tuple[str, str], int] = {}
        self.open: list[dict[str, Any]] = []
        self.gaps: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.pooled: list[str] = []
        self.changing: dict[str, bool] = {}
        """Tool of a known world → whether its calls change the state."""
        for story in (main, *self.siblings):
            for call in story.calls:
                if call.cut and not (story is main and call.seq in marked.unknown):
                    raise NotUsable(
                        f"{story.name}: the answer of {shown(call.tool)} (event {call.seq}) "
                        f"{call.cut}: it looks cut off",
                        *(
                            (f"--unknown {call.seq} leaves that answer open",)
                            if story is main
                            else ("leave this trace out of --with",)
                        ),
                        "give a trace whose exporter had no limit of length",
                    )

    def acts(self, tool: str) -> Acts:
        """Return whether a tool writes: as in its known world, unless a mark says otherwise; a
        wrongly called tool whose name says nothing writes, since the person minds the call."""
        found = acts_of(tool, self.marks)
        if tool in self.changing and tool not in (*self.marks.reads, *self.marks.writes):
            return "write" if self.changing[tool] else "read"
        return "write" if found == "unknown" and tool in self._wrong else found

    def built(self, offered: Mapping[str, Definition]) -> World:
        reads = self._good_reads()
        pooled = self._pooled_reads(reads)
        polled = self._polled(reads)
        state = self._starts(reads, pooled, polled)
        followed = self._follow(state, polled)
        self._write_cases(self.main, followed.changes)
        self._read_cases(reads, pooled, polled, followed)
        self._sibling_writes(state)
        self._errors()
        needs = self._needs(offered)
        self._tell(followed)
        return World(
            self._initial_state(), self._tools(offered), self.open, self.gaps, self.notes, needs,
            sum(len(one["calls"]) for faults in self._faults.values() for one in faults),
            self.pooled,
        )  # fmt: skip

    def place(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
        lasting = self.keys.lasting(tool, arguments)
        place = self._slots.of(self.keys.key_of(tool, arguments), lasting)
        self._asked.setdefault(place, lasting)
        return place

    # Answers of reads.

    def _usable(self, call: Made) -> bool:
        return call.status == "ok" and call.answered and call.seq not in self.marked.unknown

    def _good_reads(self) -> dict[Key, list[tuple[int, Made]]]:
        """Return the successful reads, by key, each with the number of writes before it."""
        found: dict[Key, list[tuple[int, Made]]] = {}
        writes = 0
        for call in self.main.calls:
            if self.acts(call.tool) == "write":
                writes += call.status == "ok"
            elif self._usable(call):
                found.setdefault(self.keys.key(call), []).append((writes, call))
        return found

    def _pooled_reads(self, reads: Mapping[Key, list[tuple[int, Made]]]) -> dict[Key, Made]:
        """Return what siblings read before their first write. Raises NotUsable where two disagree
        about the initial state."""
        found: dict[Key, tuple[str, Made]] = {}
        for key, calls in reads.items():
            if calls[0][0] == 0:
                found[key] = self.main.name, calls[0][1]
        own = set(found)
        for story in self.siblings:
            met: set[Key] = set()
            for call in story.calls:
                if self.acts(call.tool) == "write":
                    break
                key = self.keys.key(call)
                if call.status != "ok" or not call.answered or key in met:
                    continue
                met.add(key)
                where, other = found.setdefault(key, (story.name, call))
                if not same(other.answer, call.answer):
                    raise NotUsable(
                        f"{shown(call.tool)} {shown(key[1], 200)} answers one thing in {where} "
                        f"(event {other.seq}) and another in {story.name} (event {call.seq})",
                        f"leave {story.name} out of --with",
                        "--volatile ARGUMENT, if an argument means no other answer",
                    )
                if key not in own and key not in reads:
                    self.pooled.append(f"{call.tool} {key[1]} from {story.name}")
        return {key: call for key, (_, call) in found.items()}

    def _polled(self, reads: Mapping[Key, list[tuple[int, Made]]]) -> dict[Key, list[Any]]:
        """Return the reads whose answers differ with no write between them: by key, the answers in
        order."""
        found = {}
        for key, calls in reads.items():
            parts: dict[int, Made] = {}
            for segment, call in calls:
                parts.setdefault(segment, call)
            varied = any(not same(parts[part].answer, one.answer) for part, one in calls)
            if varied:
                found[key] = [call.answer for _, call in calls]
                if len(parts) > 1:
                    self.open.append(
                        blank(
                            f"confirm what {key[0]} answers for {key[1]}: it changed with and "
                            "without a write, and is taken as a sequence",
                            *found[key],
                        )
                    )
        return found

    def _starts(
        self,
        reads: Mapping[Key, list[tuple[int, Made]]],
        pooled: Mapping[Key, Made],
        polled: Mapping[Key, list[Any]],
    ) -> dict[tuple[str, str], Any]:
        """Return the initial state: objects that reads showed, and other answers that changed."""
        state: dict[tuple[str, str], Any] = {}
        for key, call in pooled.items():
            changed = any(not same(call.answer, one.answer) for _, one in reads.get(key, ()))
            if key not in polled and (isinstance(call.answer, dict | list) or changed):
                state[self.place(call.tool, call.arguments)] = call.answer
        self._initial = dict(state)
        return state

    def _follow(
        self, state: dict[tuple[str, str], Any], polled: Mapping[Key, list[Any]]
    ) -> Followed:
        followed = Followed(state, self.keys, self._asked)
        for call in self.main.calls:
            if self.acts(call.tool) == "write":
                if call.status == "ok":
                    followed.write(call)
            elif self._usable(call) and self.keys.key(call) not in polled:
                place = self.place(call.tool, call.arguments)
                if place in state or isinstance(call.answer, dict | list):
                    followed.read(place, call)
        for place, answer in followed.assumed.items():
            self._initial[place] = answer
            self.notes.append(
                f"{'.'.join(place)} was first read after a write that does not name it: taken to "
                "be the same before"
            )
        return followed

    def _read_cases(
        self,
        reads: Mapping[Key, list[tuple[int, Made]]],
        pooled: Mapping[Key, Made],
        polled: Mapping[Key, list[Any]],
        followed: Followed,
    ) -> None:
        calls = {key: found[0][1] for key, found in reads.items()}
        for key, call in {**pooled, **calls}.items():
            place = self.place(call.tool, call.arguments)
            case: dict[str, Any] = {"arguments": self.keys.of(call)}
            if key in polled:
                case["sequence"] = polled[key]
            elif place in followed.made_by:
                done, of = self._done(followed.made_by[place])
                if of not in self._counted:
                    case["when"] = {done: True}
                case["value_at"] = ".".join(place)
            elif place in self._initial:
                case["value_at"] = ".".join(place)
            else:
                case["value"] = call.answer
                first = reads.get(key)
                if first is not None and first[0][0] and key not in pooled:
                    self.notes.append(
                        f"{call.tool} {key[1]} was first read after a write: what it answers "
                        "before one is taken to be the same"
                    )
            self._cases.setdefault(call.tool, []).append(case)

    # Answers and effects of writes.

    def _done(self, seq: int) -> tuple[str, tuple[str, str]]:
        """Return the path that records that a write was made, and its place."""
        call = self._by_seq[seq]
        place = self.place(call.tool, call.arguments)
        return f"{DONE}.{'.'.join(place)}", place

    def _write_cases(self, story: Story, changes: Mapping[int, Any]) -> None:
        """Add the answer and the effects of each write; repeated writes are distinguished by how
        often they were made before."""
        made: dict[Key, list[Made]] = {}
        for call in story.calls:
            if self.acts(call.tool) == "write" and call.status == "ok":
                made.setdefault(self.keys.key(call), []).append(call)
        for calls in made.values():
            first = calls[0]
            tool, slot = self.place(first.tool, first.arguments)
            counted = len(calls) > 1 and self._differ(calls, changes)
            if counted:
                self._counted[tool, slot] = len(calls)
            for number, call in enumerate(calls if counted else calls[:1]):
                when = {"when": {f"{DONE}.{tool}.{slot}": number}} if counted else {}
                case: dict[str, Any] = {"arguments": self.keys.of(call), **when}
                if not call.answered or call.seq in self.marked.unknown:
                    of = canonical(call.arguments)
                    case["value"] = blank(f"what {call.tool} answers for {of}")
                else:
                    case["value"] = call.answer
                self._cases.setdefault(call.tool, []).append(case)
                merge: dict[str, Any] = {DONE: {tool: {slot: number + 1 if counted else True}}}
                for change in changes.get(call.seq, {}).values():
                    of, name = change.place
                    merge.setdefault(of, {})[name] = patch_of(change.before, change.after)
                effect = {"merge": merge, "arguments": self.keys.of(call), **when}
                self._effects.setdefault(call.tool, []).append(effect)

    def _differ(self, calls: list[Made], changes: Mapping[int, Any]) -> bool:
        """Return whether it matters how often a write was made: its answer or effect differed, or
        one occurrence is marked wrong and another is not."""
        wrong = {call.seq in self.marked.wrong for call in calls}
        return len(wrong) > 1 or any(
            not same(calls[0].answer, call.answer) or bool(changes.get(call.seq))
            for call in calls[1:]
        )

    def _sibling_writes(self, state: Mapping[tuple[str, str], Any]) -> None:
        """Add writes that only siblings made, each the first of its story: the state before it is
        known. A note names those with another answer than the one used."""
        known = {self.keys.key(call) for call in self.main.calls}
        taken = self._first_writes()
        for story in self.siblings:
            first = next((one for one in story.calls if self.acts(one.tool) == "write"), None)
            if first is None or first.status != "ok" or not first.answered:
                continue
            key = self.keys.key(first)
            where, other = taken.setdefault(key, (story.name, first))
            if not same(other.answer, first.answer):
                self.notes.append(
                    f"{first.tool} {key[1]} answers one thing in {where} (event {other.seq}) and "
                    f"another in {story.name} (event {first.seq}): the first is taken"
                )
            if key in known:
                continue
            known.add(key)
            followed = Followed(dict(state), self.keys, self._asked)
            followed.write(first)
            self._write_cases(story._replace(steps=(first,)), followed.changes)
            self.pooled.append(f"{first.tool} {self.keys.key(first)[1]} from {story.name}")

    def _first_writes(self) -> dict[Key, tuple[str, Made]]:
        """Return the first write of the trace, if its answer is taken."""
        first = next((one for one in self.main.calls if self.acts(one.tool) == "write"), None)
        if first is None or not self._usable(first):
            return {}
        return {self.keys.key(first): (self.main.name, first)}

    def _errors(self) -> None:
        """Add the calls that failed, and those whose answer is left open."""
        good: dict[Key, int] = {}
        for call in self.main.calls:
            if call.status == "ok":
                good[self.keys.key(call)] = call.seq
        for tool, cases in self._cases.items():
            for case in cases:
                key = tool, canonical(case["arguments"])
                self._whens.setdefault(key, []).append(case.get("when"))
        numbers: dict[str, int] = {}
        for call in self.main.calls:
            numbers[call.tool] = number = numbers.get(call.tool, 0) + 1
            writes = self.acts(call.tool) == "write"
            if call.status == "denied":
                self._add_once(call, {"error": _message(call.answer) or "the call was denied"})
            elif call.status == "pending" or not call.answered:
                if call.status != "ok" or not writes:
                    self._gap(call, "its answer is not recorded")
            elif call.status in ("error", "timeout"):
                self._failed(call, number, good.get(self.keys.key(call)))
            elif call.seq in self.marked.unknown and not writes:
                told = blank(f"what {call.tool} answers for {canonical(self.keys.of(call))}")
                self._add_once(call, {"value": told})

    def _failed(self, call: Made, number: int, went_well: int | None) -> None:
        """Add a call that failed: by chance, where the same call succeeded later; else the failure
        is the tool's answer, for a write that succeeded before from then on."""
        message = _message(call.answer)
        if went_well is None and call.status == "error":
            self._add_once(call, {"error": message or "the tool failed"})
            return
        place = self.place(call.tool, call.arguments)
        before = went_well is not None and went_well < call.seq
        if before and self.acts(call.tool) == "write" and call.status == "error":
            of = self._counted.get(place, True)
            when = {f"{DONE}.{'.'.join(place)}": of}
            self._add_once(call, {"when": when, "error": message or "the tool failed"})
            return
        fault = {"kind": call.status, "calls": [number], "message": message}
        self._faults.setdefault(call.tool, []).append(fault)
        if "faults" not in self.marks.confirm:
            what = (
                f"confirm that call {number} of {call.tool} failed by chance (event {call.seq}): "
                "an agent that tries again is answered"
            )
            self.open.append(blank(what, message))

    def _add_once(self, call: Made, answer: Mapping[str, Any]) -> None:
        """Add a case of a call, unless there is one with these arguments in this state."""
        case: dict[str, Any] = {"arguments": self.keys.of(call), **answer}
        cases = self._cases.setdefault(call.tool, [])
        known = self._whens.setdefault(self.keys.key(call), [])
        if case.get("when") not in known:
            known.append(case.get("when"))
            cases.append(case)

    def _gap(self, call: Made, why: str) -> None:
        gap = {"tool": call.tool, "arguments": self.keys.of(call), "why": why}
        if (of := frozen(gap)) not in self._known_gaps:
            self._known_gaps.add(of)
            self.gaps.append(gap)

    # Required calls without a recorded answer.

    def needs_in(self, offered: Mapping[str, Definition]) -> tuple[Need, ...]:
        """Return the required calls in a known world: it answers any arguments, so that only the
        arguments may be unknown."""
        found = []
        for need in self.marked.needs:
            given = need.arguments
            if given is None:
                made = {
                    canonical(self.keys.of(call)): call
                    for story in (self.main, *self.siblings)
                    for call in story.calls
                    if call.tool == need.tool and call.status == "ok"
                }
                if made:
                    only = next(iter(made.values())) if len(made) == 1 else None
                    found.append(Need(need.tool, only and (self.keys.of(only) or None)))
                    continue
                given = self._likely(offered.get(need.tool))
                self._tell_missing(offered.get(need.tool), given)
            found.append(Need(need.tool, given))
        return tuple(found)

    def _needs(self, offered: Mapping[str, Definition]) -> tuple[Need, ...]:
        found = []
        for need in self.marked.needs:
            cases = self._cases.get(need.tool, [])
            given = need.arguments
            if given is None and cases:
                told = {canonical(case["arguments"]): case["arguments"] for case in cases}
                only = next(iter(told.values())) if len(told) == 1 else None
                found.append(Need(need.tool, only or None))
                continue
            if given is None:
                given = self._likely(offered.get(need.tool))
                self._tell_missing(offered.get(need.tool), given)
            lasting = self.keys.lasting(need.tool, given)
            if not any(_fits(case["arguments"], given) for case in cases):
                key = self.keys.key_of(need.tool, given)
                seen = self._seen(given)
                what = (
                    f"what {need.tool} answers for {key[1]}: no trace recorded it (--with TRACE "
                    "takes it from another)"
                )
                if seen:
                    what += "; seen: what a write answered on the same object, with its change"
                self._cases.setdefault(need.tool, []).append(
                    {"arguments": lasting, "value": blank(what, *seen)}
                )
            found.append(Need(need.tool, given))
        return tuple(found)

    def _likely(self, tool: Definition | None) -> dict[str, Any]:
        """Return the arguments for a required call that names none: the values that other calls
        gave to the tool's required parameters, else the ids that they share; never an argument
        outside the tool's known parameters."""
        wanted = [] if tool is None else tool.parameters.get("required") or []
        has = None if tool is None or tool.inferred else tool.parameters.get("properties") or {}
        given: dict[str, Any] = {}
        for call in self.main.calls:
            for name, value in self.keys.of(call).items():
                if has is not None and name not in has:
                    continue
                if name in wanted or (not wanted and name.endswith("id")):
                    given.setdefault(name, value)
        return given

    def _tell_missing(self, tool: Definition | None, given: Mapping[str, Any]) -> None:
        """Leave open the required arguments of a required call that nothing states."""
        required = [] if tool is None else tool.parameters.get("required") or []
        missing = [name for name in required if name not in given]
        if tool is not None and missing:
            names = ", ".join(missing)
            form = ", ".join(f'"{name}": …' for name in required)
            self.open.append(
                blank(
                    f"the arguments of {tool.name} ({names}): --required '{tool.name}:{{{form}}}' "
                    "names them, --with TRACE takes them from a trace that calls it"
                )
            )

    def _seen(self, arguments: Mapping[str, Any]) -> list[Any]:
        """Return the answers of writes on the object that these arguments name."""
        found: list[Any] = []
        for call in self.main.calls:
            answer = call.answer
            if self.acts(call.tool) != "write" or not isinstance(answer, dict):
                continue
            if any(same(value, answer.get(name)) for name, value in arguments.items()):
                found.append(answer)
        return found

    # The simulator.

    def _tell(self, followed: Followed) -> None:
        for story in self.siblings:
            if not any(one.endswith(f" from {story.name}") for one in self.pooled):
                self.notes.append(
                    f"nothing was taken from {story.name}: what it read before its first write, "
                    "and that write, are known without it"
                )
        for place, writes in followed.doubts:
            events = " and ".join(map(str, writes))
            what = f"confirm which of events {events} changed {'.'.join(place)}"
            self.open.append(blank(f"{what}: taken as the last"))
        for place, seq in followed.unset:
            self.open.append(
                blank(
                    f"confirm {'.'.join(place)} after event {seq}: it holds a null there, which no "
                    "effect can set"
                )
            )
        unclear = sorted({c.tool for c in self.main.calls if self.acts(c.tool) == "unknown"})
        if unclear:
            names = ", ".join(unclear)
            self.notes.append(
                f"whether these write is not known, taken as reads (--writes, --reads): {names}"
            )

    def _initial_state(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for (tool, slot), value in self._initial.items():
            made.setdefault(tool, {})[slot] = value
        for tool, slot in self._counted:
            made.setdefault(DONE, {}).setdefault(tool, {})[slot] = 0
        return made

    def _tools(self, offered: Mapping[str, Definition]) -> dict[str, dict[str, Any]]:
        made: dict[str, dict[str, Any]] = {}
        for name, tool in offered.items():
            cases = self._cases.get(name, [])
            responses: dict[str, Any] = {"unrecorded": "spoil"}
            if cases:
                # The first matching case answers, and a case also matches calls with further
                # arguments.
                ordered = sorted(cases, key=lambda one: (-len(one["arguments"]), "when" not in one))
                responses = {"match": ordered, "unrecorded": "spoil"}
            else:
                self.gaps.append({"tool": name, "why": "offered, and no call of it is recorded"})
            told: dict[str, Any] = {
                "description": tool.description,
                "parameters": tool.parameters,
                "responses": responses,
            }
            if name in self._effects:
                told["effects"] = self._effects[name]
            if name in self._faults:
                told["faults"] = self._faults[name]
            made[name] = told
        return made


def _message(answer: Any) -> str:
    if isinstance(answer, dict) and len(answer) <= 2:
        inner = answer.get("error") or answer.get("message")
        if isinstance(inner, dict):
            inner = inner.get("message")
        if isinstance(inner, str):
            return inner
    return answer if isinstance(answer, str) else canonical(answer)


def _fits(wanted: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    return all(name in arguments and same(value, arguments[name]) for name, value in wanted.items())
