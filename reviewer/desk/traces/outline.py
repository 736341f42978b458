"""The events of one trace grouped: by turn, and by agent and turn. Which lines fold, and what a
folded line says of the lines below it."""

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct, structs

from reviewer.desk.traces.events import together
from reviewer.desk.traces.steps import MAIN, Thread, Turn, is_private, slim, turns_of
from reviewer.desk.traces.timeline import Moments, moments_of
from reviewer.desk.views import Mark
from reviewer.trace.record import Event, is_user, kind_of

Grouping = Literal["turns", "agents"]
RUNS_FROM = 24
"""With more turns than this, stretches without a finding are one line each."""
SHORTEST_RUN = 4
_ORDER: Mapping[Mark | None, int] = {"critical": 3, "fail": 2, "not_measured": 1}


class Totals(Struct, gc=False):
    """Counts of some events. `wrong` did not work; `took_ms` is the time of the calls, with
    simultaneous calls counted once, and None where the time of a call is not recorded."""

    events: int = 0
    calls: int = 0
    wrong: int = 0
    took_ms: float | None = None
    mark: Mark | None = None

    def add(self, other: "Totals") -> None:
        """Add the counts of a part below."""
        if other.calls and self.calls:
            known = self.took_ms is not None and other.took_ms is not None
            self.took_ms = (self.took_ms or 0) + (other.took_ms or 0) if known else None
        elif other.calls:
            self.took_ms = other.took_ms
        self.events += other.events
        self.calls += other.calls
        self.wrong += other.wrong
        if _ORDER.get(other.mark, 0) > _ORDER.get(self.mark, 0):
            self.mark = other.mark


class Outline(NamedTuple):
    """A trace in turns. `seqs` are the numbers of its events, `turn_at` the turn of each; for each
    turn, `totals` and the position of the event that summarizes it."""

    seqs: Sequence[int]
    turns: Sequence[Turn]
    threads: Sequence[Thread]
    turn_at: Sequence[int]
    totals: Sequence[Totals]
    says: Sequence[int]
    names: Sequence[str]
    """By thread: its agent, numbered where several have the same name."""
    moments: Moments

    def place(self, seq: int) -> int:
        """Return the position of the event with this number, or of the next one."""
        return min(bisect_left(self.seqs, seq), max(0, len(self.seqs) - 1))


def outline_of(events: Iterable[Event], marks: Mapping[int, Mark]) -> Outline:
    """Return the outline of a trace; `marks` are the worst findings by number of the event."""
    slims = [slim(event) for event in events]
    seqs = array("q", (event.seq or at for at, event in enumerate(slims, 1)))
    turns, threads = turns_of(slims)
    turn_at = array("q", bytes(8 * len(slims)))
    for number, turn in enumerate(turns):
        for place in turn.places:
            turn_at[place] = number
    groups = together(slims)
    totals = [_totals(turn.places, slims, groups, seqs, marks) for turn in turns]
    says = array("q", (_says(turn.places, slims) for turn in turns))
    moments = moments_of(slims, [marks.get(seq) for seq in seqs])
    return Outline(seqs, turns, threads, turn_at, totals, says, _names(threads), moments)


def _totals(
    places: Sequence[int],
    events: Sequence[Event],
    groups: Sequence[tuple[int, int]],
    seqs: Sequence[int],
    marks: Mapping[int, Mark],
) -> Totals:
    found = Totals(events=len(places))
    took, longest, known = 0.0, 0.0, True
    for place in places:
        event = events[place]
        kind = kind_of(event)
        found.wrong += kind == "error" or event.status not in (None, "ok")
        mark = marks.get(seqs[place])
        if _ORDER.get(mark, 0) > _ORDER.get(found.mark, 0):
            found.mark = mark
        if kind == "tool_call":
            found.calls += 1
            known = known and event.latency_ms is not None
            longest = longest if groups[place][0] > 1 else 0.0
            more = max(longest, event.latency_ms or 0.0)
            took, longest = took + more - longest, more
    found.took_ms = took if known and found.calls else None
    return found


def _says(places: Sequence[int], events: Sequence[Event]) -> int:
    """Return the position of what a user said in a turn, else of what an agent did, else of its
    first call."""
    said = [at for at in places if kind_of(events[at]) == "message" and not is_private(events[at])]
    spoken = [at for at in said if events[at].actor not in ("system", "environment")]
    asked = [at for at in spoken if is_user(events[at].actor)]
    calls = [at for at in places if kind_of(events[at]) == "tool_call"]
    return (asked or spoken or calls or said or list(places))[0]


def _names(threads: Sequence[Thread]) -> list[str]:
    counts: dict[str, int] = {}
    names = []
    for thread in threads:
        count = counts[thread.name] = counts.get(thread.name, 0) + 1
        name = "main" if thread.name == MAIN else thread.name
        names.append(name if count == 1 else f"{name} {count}")
    return names


class Node(Struct, gc=False):
    """A line that folds: a turn, a run of turns without a finding, or an agent. `numbers` are those
    of its first and last turn, `first` and `says` positions of events."""

    kind: Literal["turn", "run", "agent"]
    parent: int
    depth: int
    thread: int
    first: int
    says: int
    numbers: tuple[int, int]
    totals: Totals
    children: Sequence[int] = ()
    places: Sequence[int] = ()
    agents: Sequence[tuple[int, int]] = ()
    """In a turn: (position of the call, node) of the agents started in it."""

    @property
    def place(self) -> tuple[str, int, int]:
        """Return a key that identifies the line while the trace grows."""
        return self.kind, self.thread, self.first


class Listing:
    """The lines of a grouped trace with their folds. A key is the position of an event, or -1 -
    node. `only` are the positions that are listed, None for all."""

    def __init__(
        self, outline: Outline, grouping: Grouping, only: Collection[int] | None = None
    ) -> None:
        self.outline, self.grouping = outline, grouping
        self.only = None if only is None else frozenset(only)
        self.nodes: list[Node] = []
        self._of_turn = array("q", bytes(8 * len(outline.turns)))
        self._under: dict[int, list[int]] = {}
        for number, thread in enumerate(outline.threads):
            self._under.setdefault(thread.under, []).append(number)
        if grouping == "turns":
            self.roots, _ = self._grouped(range(len(outline.turns)), -1, 0)
        else:
            self.roots = [self._agent(thread, -1, 0) for thread in self._under.get(-1, ())]
        self.opened: set[int] = set()
        self.keys = array("q")
        self.fold_all()

    # building the nodes ------------------------------------------------------------------------

    def _agent(self, thread: int, parent: int, depth: int) -> int:
        turns = self.outline.threads[thread].turns
        first = self.outline.turns[turns[0]].places[0] if turns else 0
        says = self.outline.says[turns[0]] if turns else 0
        node = self._new("agent", parent, depth, thread, first, says, (1, len(turns)))
        self.nodes[node].children, totals = self._grouped(turns, node, depth + 1)
        self.nodes[node].totals = totals
        return node

    def _grouped(self, turns: Sequence[int], parent: int, depth: int) -> tuple[list[int], Totals]:
        """Return the nodes of these turns, in runs where there are many, and their totals."""
        nodes: list[int] = []
        whole = Totals()
        at = 0
        while at < len(turns):
            end = at
            while end < len(turns) and self.outline.totals[turns[end]].mark is None:
                end += 1
            if len(turns) <= RUNS_FROM or end - at < SHORTEST_RUN:
                end = max(end, at + 1)
                for number in range(at, end):
                    nodes.append(self._turn(turns[number], number + 1, parent, depth))
                    whole.add(self.nodes[nodes[-1]].totals)
            else:
                nodes.append(self._run(turns, at, end, parent, depth))
                whole.add(self.nodes[nodes[-1]].totals)
            at = end
        return nodes, whole

    def _run(self, turns: Sequence[int], at: int, end: int, parent: int, depth: int) -> int:
        first = self.outline.turns[turns[at]]
        says = self.outline.says[turns[at]]
        node = self._new("run", parent, depth, first.thread, first.places[0], says, (at + 1, end))
        totals = self.nodes[node].totals
        children = array("q")
        for number in range(at, end):
            child = self._turn(turns[number], number + 1, node, depth + 1)
            children.append(child)
            totals.add(self.nodes[child].totals)
        self.nodes[node].children = children
        return node

    def _turn(self, turn: int, number: int, parent: int, depth: int) -> int:
        places = self.outline.turns[turn].places
        thread, says = self.outline.turns[turn].thread, self.outline.says[turn]
        node = self._new("turn", parent, depth, thread, places[0], says, (number, number))
        self._of_turn[turn] = node
        made = self.nodes[node]
        made.places = places
        made.totals = self.outline.totals[turn]
        under = self._under.get(turn, ()) if self.grouping == "agents" else ()
        if under:
            made.totals = structs.replace(made.totals)  # a copy: more is added to it
            agents = []
            for thread in under:
                below = self._agent(thread, node, depth + 1)
                agents.append((self.outline.threads[thread].call, below))
                made.totals.add(self.nodes[below].totals)
            made.agents = agents
        return node

    def _new(
        self,
        kind: Literal["turn", "run", "agent"],
        parent: int,
        depth: int,
        thread: int,
        first: int,
        says: int,
        numbers: tuple[int, int],
    ) -> int:
        self.nodes.append(Node(kind, parent, depth, thread, first, says, numbers, Totals()))
        return len(self.nodes) - 1

    # folding -----------------------------------------------------------------------------------

    def fold_all(self) -> None:
        """Fold every turn, and every agent below another, that has no finding; do nothing where a
        selection of events is listed."""
        self.opened = {
            number
            for number, node in enumerate(self.nodes)
            if self.only is not None
            or node.totals.mark is not None
            or (node.kind == "agent" and node.depth == 0)
        }
        self._list()

    def unfold_all(self) -> None:
        """Unfold everything."""
        self.opened = set(range(len(self.nodes)))
        self._list()

    def fold_as(self, other: "Listing") -> None:
        """Apply the folds of another listing of this trace, from before it grew."""
        opened = {other.nodes[number].place for number in other.opened}
        self.opened = {number for number, node in enumerate(self.nodes) if node.place in opened}
        self._list()

    def _list(self) -> None:
        self.keys = array("q")
        for root in self.roots:
            self._line(root, self.keys)

    def _line(self, node: int, keys: "array[int]") -> None:
        if self._shown(node):
            keys.append(-1 - node)
            if node in self.opened:
                self._below(node, keys)

    def _below(self, number: int, keys: "array[int]") -> None:
        node = self.nodes[number]
        for child in node.children:
            self._line(child, keys)
        waiting = dict[int, list[int]]()
        for call, agent in node.agents:
            waiting.setdefault(call, []).append(agent)
        for place in node.places:
            if self.only is None or place in self.only:
                keys.append(place)
            for agent in waiting.get(place, ()):
                self._line(agent, keys)
        for agent in waiting.get(-1, ()):
            self._line(agent, keys)

    def _shown(self, number: int) -> bool:
        if self.only is None:
            return True
        node = self.nodes[number]
        return (
            any(place in self.only for place in node.places)
            or any(map(self._shown, node.children))
            or any(self._shown(agent) for _, agent in node.agents)
        )

    def turn(self, row: int) -> int:
        """Fold or unfold a line; for an event, its turn. Return the row of the fold."""
        key = self.keys[row]
        node = -1 - key if key < 0 else self.node_of(key)
        row = row if key < 0 else self.keys.index(-1 - node)
        if node in self.opened:
            self.opened.discard(node)
            end = row + 1
            while end < len(self.keys) and self.depth(self.keys[end]) > self.nodes[node].depth:
                end += 1
            del self.keys[row + 1 : end]
        else:
            self._open(node, row)
        return row

    def _open(self, node: int, row: int) -> None:
        self.opened.add(node)
        below = array("q")
        self._below(node, below)
        self.keys[row + 1 : row + 1] = below

    def show(self, place: int) -> int:
        """Return the row of an event, after unfolding what hides it."""
        way = [self.node_of(place)]
        while (parent := self.nodes[way[-1]].parent) >= 0:
            way.append(parent)
        for node in reversed(way):
            if node not in self.opened:
                self._open(node, self.keys.index(-1 - node))
        return self.keys.index(place)

    def row_of(self, place: int) -> int:
        """Return the row of an event, or of the fold that hides it."""
        node, key = self.node_of(place), place
        while node >= 0:
            key = key if node in self.opened else -1 - node
            node = self.nodes[node].parent
        return self.keys.index(key)

    # lines -------------------------------------------------------------------------------------

    @property
    def agents(self) -> int:
        """Count the agents, each as often as it was started."""
        return len(self.outline.threads)

    def nearest(self, place: int) -> int:
        """Return the position of a listed event: this one, else the next one, else the last one."""
        if self.only is None or place in self.only or not self.only:
            return place
        return min((at for at in self.only if at > place), default=max(self.only))

    def node_of(self, place: int) -> int:
        """Return the turn of an event."""
        return self._of_turn[self.outline.turn_at[place]]

    def first(self, key: int) -> int:
        """Return the position of the event on a line; for a fold, of its first event."""
        return key if key >= 0 else self.nodes[-1 - key].first

    def depth(self, key: int) -> int:
        """Return how far a line is indented."""
        return self.nodes[-1 - key].depth if key < 0 else self.nodes[self.node_of(key)].depth + 1
