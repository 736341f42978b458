"""The events of one trace grouped: by turn, and by agent and turn. Which lines there are, and which
of them fold."""

from array import array
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from msgspec import Struct, structs

from reviewer.desk.traces.outline import Outline, Totals

Grouping = Literal["turns", "agents"]
RUNS_FROM = 24
"""With more turns than this, stretches without a finding are one line each."""
SHORTEST_RUN = 4
Kind = Literal["turn", "run", "agent"]
_KINDS: tuple[Kind, ...] = ("turn", "run", "agent")


class Node(Struct, gc=False):
    """A line that folds: a turn, a run of turns without a finding, or an agent. `numbers` are those
    of its first and last turn, `first` and `says` positions of events."""

    kind: Kind
    parent: int
    depth: int
    thread: int
    first: int
    says: int
    numbers: tuple[int, int]
    totals: Totals
    places: Sequence[int] = ()

    @property
    def place(self) -> tuple[str, int, int]:
        """Return a key that identifies the line while the trace grows."""
        return self.kind, self.thread, self.first


class Nodes:
    """The lines of a listing that fold, in columns: a large trace may have as many as events."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._kind = bytearray()
        self._thread, self._turn = array("i"), array("i")
        self._number, self._last = array("i"), array("i")
        self.parent, self.depth = array("i"), array("i")
        self.totals: dict[int, Totals] = {}
        """Of those lines that have others than their turn."""
        self.children: dict[int, Sequence[int]] = {}
        self.agents: dict[int, Sequence[tuple[int, int]]] = {}
        """By turn: (position of the call, node) of the agents started in it."""

    def add(
        self, kind: Kind, parent: int, depth: int, thread: int, turn: int, numbers: tuple[int, int]
    ) -> int:
        """Add a line and return its number; `turn` is its first turn, -1 without any."""
        self._kind.append(_KINDS.index(kind))
        self.parent.append(parent)
        self.depth.append(depth)
        self._thread.append(thread)
        self._turn.append(turn)
        self._number.append(numbers[0])
        self._last.append(numbers[1])
        return len(self._kind) - 1

    def __len__(self) -> int:
        return len(self._kind)

    def __getitem__(self, node: int) -> Node:
        turn, kind = self._turn[node], _KINDS[self._kind[node]]
        places = self._outline.turns.places(turn) if turn >= 0 else (0,)
        return Node(
            kind=kind,
            parent=self.parent[node],
            depth=self.depth[node],
            thread=self._thread[node],
            first=places[0],
            says=self._outline.says[turn] if turn >= 0 else 0,
            numbers=(self._number[node], self._last[node]),
            totals=self.totals_of(node),
            places=places if kind == "turn" else (),
        )

    def __iter__(self) -> Iterator[Node]:
        return map(self.__getitem__, range(len(self)))

    def totals_of(self, node: int) -> Totals:
        """Return the counts of a line and all below it."""
        found = self.totals.get(node)
        return self._outline.totals[self._turn[node]] if found is None else found

    def places(self, node: int) -> Sequence[int]:
        """Return the positions of the events of a turn; none for another line."""
        return self._outline.turns.places(self._turn[node]) if self._kind[node] == 0 else ()


class Listing:
    """The lines of a grouped trace with their folds. A key is the position of an event, or -1 -
    node. `only` are the positions that are listed, None for all."""

    def __init__(
        self, outline: Outline, grouping: Grouping, only: Collection[int] | None = None
    ) -> None:
        self.outline, self.grouping = outline, grouping
        self.only = None if only is None else frozenset(only)
        self.nodes = Nodes(outline)
        self._of_turn = array("q", bytes(8 * len(outline.turns)))
        self._under: dict[int, list[int]] = {}
        for number, thread in enumerate(outline.threads):
            self._under.setdefault(thread.under, []).append(number)
        if grouping == "turns":
            self.roots, _ = self._grouped(range(len(outline.turns)), -1, 0)
        else:
            self.roots = array("i", (self._agent(one, -1, 0) for one in self._under.get(-1, ())))
        self.opened: set[int] = set()
        self.keys = array("q")
        self.fold_all()

    # building the nodes ------------------------------------------------------------------------

    def _agent(self, thread: int, parent: int, depth: int) -> int:
        turns = self.outline.threads[thread].turns
        first = turns[0] if turns else -1
        node = self.nodes.add("agent", parent, depth, thread, first, (1, len(turns)))
        below, totals = self._grouped(turns, node, depth + 1)
        self.nodes.children[node], self.nodes.totals[node] = below, totals
        return node

    def _grouped(
        self, turns: Sequence[int], parent: int, depth: int
    ) -> tuple["array[int]", Totals]:
        """Return the nodes of these turns, in runs where there are many, and their totals."""
        nodes = array("i")
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
                    whole.add(self.nodes.totals_of(nodes[-1]))
            else:
                nodes.append(self._run(turns, at, end, parent, depth))
                whole.add(self.nodes.totals_of(nodes[-1]))
            at = end
        return nodes, whole

    def _run(self, turns: Sequence[int], at: int, end: int, parent: int, depth: int) -> int:
        thread = self.outline.turns.threads[turns[at]]
        node = self.nodes.add("run", parent, depth, thread, turns[at], (at + 1, end))
        totals = self.nodes.totals[node] = Totals()
        children = self.nodes.children[node] = array("i")
        for number in range(at, end):
            child = self._turn(turns[number], number + 1, node, depth + 1)
            children.append(child)
            totals.add(self.nodes.totals_of(child))
        return node

    def _turn(self, turn: int, number: int, parent: int, depth: int) -> int:
        thread = self.outline.turns.threads[turn]
        node = self.nodes.add("turn", parent, depth, thread, turn, (number, number))
        self._of_turn[turn] = node
        under = self._under.get(turn, ()) if self.grouping == "agents" else ()
        if under:
            totals = structs.replace(self.outline.totals[turn])  # a copy: more is added to it
            agents = []
            for started in under:
                below = self._agent(started, node, depth + 1)
                agents.append((self.outline.threads[started].call, below))
                totals.add(self.nodes.totals_of(below))
            self.nodes.agents[node], self.nodes.totals[node] = agents, totals
        return node

    # folding -----------------------------------------------------------------------------------

    def fold_all(self) -> None:
        """Fold every turn, and every agent below another, that has no finding; do nothing where a
        selection of events is listed."""
        self.opened = {
            number
            for number in range(len(self.nodes))
            if self.only is not None or self.nodes.totals_of(number).mark is not None
        }
        if self.grouping == "agents":
            self.opened.update(self.roots)
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
        for child in self.nodes.children.get(number, ()):
            self._line(child, keys)
        waiting = dict[int, list[int]]()
        for call, agent in self.nodes.agents.get(number, ()):
            waiting.setdefault(call, []).append(agent)
        for place in self.nodes.places(number):
            if self.only is None or place in self.only:
                keys.append(place)
            for agent in waiting.get(place, ()):
                self._line(agent, keys)
        for agent in waiting.get(-1, ()):
            self._line(agent, keys)

    def _shown(self, number: int) -> bool:
        if self.only is None:
            return True
        return (
            any(place in self.only for place in self.nodes.places(number))
            or any(map(self._shown, self.nodes.children.get(number, ())))
            or any(self._shown(agent) for _, agent in self.nodes.agents.get(number, ()))
        )

    def turn(self, row: int) -> int:
        """Fold or unfold a line; for an event, its turn. Return the row of the fold."""
        key = self.keys[row]
        node = -1 - key if key < 0 else self.node_of(key)
        row = row if key < 0 else self.keys.index(-1 - node)
        if node in self.opened:
            self.opened.discard(node)
            end = row + 1
            while end < len(self.keys) and self.depth(self.keys[end]) > self.nodes.depth[node]:
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
        while (parent := self.nodes.parent[way[-1]]) >= 0:
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
            node = self.nodes.parent[node]
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
        return self.nodes.depth[-1 - key] if key < 0 else self.nodes.depth[self.node_of(key)] + 1
