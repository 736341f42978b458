"""Which spans of a file make one episode, known by their places: nothing of them is held."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from reviewer.importing.formats._spans.identity import Run, conversation_of, run_of
from reviewer.importing.formats._spans.kinds import kind_of
from reviewer.importing.formats._spans.value import Span

_NO_TIME = (1 << 63) - 1
AMBIGUOUS = "\0"
"""Stands for the trace of an id that spans of several traces have."""
MOST_PARENTS = 500_000
"""Spans of a file of which parents are looked for in other traces: their ids are held."""


class Item(NamedTuple):
    """A place in the file that holds spans; `holders` are the places of what stands above them
    (resource, scope), -1 where there is none."""

    at: int
    size: int
    holders: tuple[int, int]


class Group(NamedTuple):
    """Items that belong together. More than one run: the episodes in it still have to be told
    apart."""

    items: list[int]
    runs: frozenset[Run]


class Index:
    """Items, joined when they share a trace, a conversation, or the episode (and attempt) that
    their own metadata names."""

    def __init__(self) -> None:
        self.spans = self.described = 0
        self.from_zero = False
        """Whether the file counts attempts from 0."""
        self._at, self._size = array("q"), array("q")
        self._holders = (array("q"), array("q"))
        self._node, self._start = array("q"), array("q")
        self._nodes: dict[str, int] = {}
        self._parent = array("q")
        self._useful = bytearray()
        self._runs: dict[int, Run] = {}
        self._traces_of: dict[str, str] = {}
        self._below: list[tuple[str, str]] = []

    def add(self, item: Item, spans: Sequence[Span]) -> None:
        """Note where some spans stand."""
        node = self._join(key for span in spans for key in self._keys(span))
        useful = sum(kind_of(span) not in ("", "judge") for span in spans)
        if self.spans < MOST_PARENTS:
            self._note_parents(spans)
        if useful:
            self._useful[node] = 1
        self.spans += len(spans)
        self.described += useful
        self._at.append(item.at)
        self._size.append(item.size)
        for kept, holder in zip(self._holders, item.holders, strict=True):
            kept.append(holder)
        self._node.append(node)
        self._start.append(min((s.start for s in spans if s.start is not None), default=_NO_TIME))

    def _note_parents(self, spans: Sequence[Span]) -> None:
        for span in spans:
            if span.id:
                other = self._traces_of.setdefault(span.id, span.trace)
                if other != span.trace:
                    self._traces_of[span.id] = AMBIGUOUS
            if span.parent:
                self._below.append((span.trace, span.parent))

    def _join_children(self) -> None:
        """Join traces one of which has a span whose parent stands in the other alone."""
        for trace, parent in self._below:
            other = self._traces_of.get(parent, trace)
            if other not in (trace, AMBIGUOUS):
                self._join(iter((f"t{other}", f"t{trace}")))
        self._below.clear()

    def _keys(self, span: Span) -> Iterator[str]:
        yield f"t{span.trace}"
        if conversation := conversation_of(span):
            yield f"c{conversation}"
        if (run := run_of(span)) is not None:
            key = f"r{run.attempt} {run.episode}"
            self._runs[self._node_of(key)] = run
            self.from_zero = self.from_zero or run.attempt == 0
            yield key

    def _node_of(self, key: str) -> int:
        node = self._nodes.setdefault(key, len(self._parent))
        if node == len(self._parent):
            self._parent.append(node)
            self._useful.append(0)
        return node

    def _join(self, keys: Iterator[str]) -> int:
        first = self._root(self._node_of(next(keys)))
        for key in keys:
            other = self._root(self._node_of(key))
            first, other = min(first, other), max(first, other)
            self._parent[other] = first
        return first

    def _root(self, node: int) -> int:
        while self._parent[node] != node:
            self._parent[node] = node = self._parent[self._parent[node]]
        return node

    @property
    def items(self) -> int:
        """Return how many items there are."""
        return len(self._at)

    def names(self) -> Iterator[str]:
        """Return what the attempts are called for good: their traces and conversations."""
        for key in self._nodes:
            if key[0] in _KINDS and len(key) > 1:
                yield f"{_KINDS[key[0]]}:{key[1:]}"

    def item(self, number: int) -> Item:
        first, second = self._holders
        return Item(self._at[number], self._size[number], (first[number], second[number]))

    def groups(self) -> Iterator[Group]:
        """Items that belong together, by the start of their first span; those that describe
        nothing of an agent's work are passed over."""
        self._join_children()
        first: dict[int, tuple[int, int]] = {}
        useful: set[int] = set()
        runs: dict[int, set[Run]] = defaultdict(set)
        for number, node in enumerate(self._node):
            root = self._root(node)
            first[root] = min(first.get(root, (_NO_TIME, number)), (self._start[number], number))
        for node, told in enumerate(self._useful):
            if told:
                useful.add(self._root(node))
        for node, run in self._runs.items():
            runs[self._root(node)].add(run)
        order = sorted(
            (n for n, node in enumerate(self._node) if self._root(node) in useful),
            key=lambda n: (first[self._root(self._node[n])], n),
        )
        for root, items in groupby(order, key=lambda n: self._root(self._node[n])):
            yield Group(list(items), _distinct(runs[root]))


def names_of(spans: Sequence[Span]) -> Iterator[str]:
    """Return what the attempt of some spans is called for good."""
    for span in spans:
        if span.trace:
            yield f"trace:{span.trace}"
        if conversation := conversation_of(span):
            yield f"conversation:{conversation}"


def _distinct(runs: set[Run]) -> frozenset[Run]:
    """Runs without those that name no attempt of an episode of which another names one."""
    numbered = {run.episode for run in runs if run.attempt is not None}
    return frozenset(r for r in runs if r.attempt is not None or r.episode not in numbered)


_KINDS = {"t": "trace", "c": "conversation"}
Load = Callable[[int], Sequence[Span]]


def told_apart(group: Group, load: Load) -> list[list[int]]:
    """The items of each episode in a group: a group with several runs (a whole evaluation in one
    trace) is parted where a span's nearest ancestor names another run. What stands above all runs
    belongs to none of them."""
    if len(group.runs) < 2:
        return [group.items]
    above: dict[tuple[str, str], tuple[str, Run | None]] = {}
    by_trace: dict[str, set[Run]] = defaultdict(set)
    own: list[list[tuple[str, str]]] = []
    starts: dict[int, int] = {}
    for number in group.items:
        keys = []
        for span in load(number):
            run = run_of(span)
            above[span.trace, span.id] = span.parent, run
            if run is not None:
                by_trace[span.trace].add(run)
            keys.append((span.trace, span.id))
            starts[number] = min(starts.get(number, _NO_TIME), span.start or _NO_TIME)
        own.append(keys)
    parted: dict[Run | None, list[int]] = defaultdict(list)
    for number, keys in zip(group.items, own, strict=True):
        run = next((r for key in keys if (r := _nearest(key, above)) is not None), None)
        alone = by_trace[keys[0][0]] if keys else set()
        parted[_named(run or (next(iter(alone)) if len(alone) == 1 else None), group)].append(
            number
        )
    rest = parted.pop(None, [])
    found = list(parted.values())
    if any(kind_of(span) in ("model", "tool") for number in rest for span in load(number)):
        found.append(rest)
    return sorted(found, key=lambda items: min(starts[number] for number in items))


def _named(run: Run | None, group: Group) -> Run | None:
    """A run without an attempt, as the run of that episode that has one."""
    if run is None or run in group.runs:
        return run
    return next((one for one in group.runs if one.episode == run.episode), None)


def _nearest(
    key: tuple[str, str], above: dict[tuple[str, str], tuple[str, Run | None]]
) -> Run | None:
    seen = set()
    while key in above and key not in seen:
        seen.add(key)
        parent, run = above[key]
        if run is not None:
            return run
        key = key[0], parent
    return None
