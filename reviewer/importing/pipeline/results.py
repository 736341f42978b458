"""Join the entries of result files about an instance into one result for each attempt.

A patch identifies more than a name, and a name more than a folder. A file that gives neither is
about the only run in its folder, or the run is unknown. Results beside predictions or trajectories
are about those, and not about the runs of another folder.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from msgspec import structs

from reviewer.trace.record import SourceVerdict


class ResultEntry(NamedTuple):
    """The entry of a result file about an instance (a SWE-bench report on a trajectory).

    `final_state` is the state that it checked or was given: an object whose `patch`, if present,
    identifies the attempt. `model` and `run` are as the file writes them, empty when it does not;
    `label` is a name that contains the model's and more (`<model>.<run>`), `place` the folder of
    the run. `termination` is set when the harness and not the agent ended it.

    An entry that was imported before and became an attempt known only by its result is read back
    from the store: `stored` is that attempt (its trace and its evidence), `digest` that of its
    patch, of which the store may have a masked copy, and `candidate` the candidate that it was
    given to.
    """

    verdict: SourceVerdict
    final_state: Any = None
    path: str = ""
    model: str = ""
    run: str = ""
    label: str = ""
    place: str = ""
    termination: str | None = None
    notes: tuple[str, ...] = ()
    stored: tuple[int, int] | None = None
    digest: str = ""
    candidate: str = ""


PREDICTION = "prediction"
"""The member in the detail of a verdict that was made from a prediction."""
CONTRADICTION = "result files contradict each other about this instance: no verdict was taken"
NO_TRAJECTORY = "no trajectory: the attempt is known by its result alone"
UNSCORED = "no report of this instance: unscored, which is not failed"
RUNS_OWN = "the candidate is that of the run's trajectories"
UNNAMED = "no file names the model: the candidate is taken from the path"
OF_ATTEMPT = frozenset({NO_TRAJECTORY, UNSCORED, RUNS_OWN, UNNAMED})
"""Notes on an attempt that was made from a result, which the result's files do not contain."""
UNCLEAR_MODEL = (
    "unclear:model ({} of no named model, and no file of their run names it: held. Import them with"
    " the predictions or trajectories of their run, or say whose they are with --candidate)"
)
"""Why verdicts of an unknown model are held back; formatted with their number."""
STANDS = "results imported before say otherwise of the same attempt: that it failed holds"


class Result:
    """All entries about one attempt joined, and whether a trajectory took them."""

    def __init__(self, entry: ResultEntry, order: int) -> None:
        self.entry, self.order = entry, order
        self.paths = set() if entry.stored else {entry.path}
        """The files of this import that are about it."""
        self.taken = self.given = False

    @property
    def loose(self) -> bool:
        """Return whether no file names its model or its run."""
        return not self.entry.model and not self.entry.label

    @property
    def patch(self) -> str | None:
        """The digest of its patch, None when that is not known."""
        return patch_digest(self.entry)

    def add(self, other: ResultEntry, order: int) -> None:
        self.order = min(order, self.order)
        self.paths.add(other.path)
        self.entry = _both(self.entry, other)


def settled(
    entries: Sequence[ResultEntry],
    models: Mapping[str, Collection[str]],
    homes: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> list[Result]:
    """Return the results about one instance, one per attempt. `models` are the names known in the
    import by place, by which labels are read. `homes` are places of runs that have predictions,
    with the models that those name: results there belong to no other run, and one that names no
    model is of that model. Reports alone name no run: those of many runs may be in one folder."""
    known = known_models(models)
    results: list[Result] = []
    loose: list[tuple[int, ResultEntry]] = []
    # Stored entries come first, then predictions: a patch identifies more than a name.
    ranked = sorted(
        enumerate(entries), key=lambda one: (one[1].stored is None, patch_digest(one[1]) is None)
    )
    for order, one in ranked:
        own = one.place in homes
        if not one.model and not one.label:
            here = {*map(plain_name, homes.get(one.place, ()))}
            one = one._replace(model=here.pop() if len(here) == 1 else "")
            own = True
        one = with_model(one, known)
        if one.stored is not None:  # already an attempt by itself
            results.append(Result(one, order))
        elif one.model or one.label:
            meant = _meant(results, one, own) or _before(results, one, homes)
            _into(meant, results, one, order)
        else:
            loose.append((order, one))
    for order, one in loose:
        able = [result for result in results if _agree(result.entry, one)]
        digest = patch_digest(one)
        alike = [result for result in able if digest is not None and result.patch == digest]
        # Reports on several models may be in one folder: one that names none belongs to none of
        # those.
        near = [result for result in able if result.entry.place == one.place and result.loose]
        _into(near or alike, results, one, order)
    return sorted(results, key=lambda result: result.order)


def known_models(models: Mapping[str, Collection[str]]) -> list[str]:
    """Return names of models by place, the longest first."""
    names = {name for some in models.values() for name in some}
    return sorted(names, key=lambda name: (len(name), name), reverse=True)


def with_model(one: ResultEntry, known: Sequence[str]) -> ResultEntry:
    """Return a result under the name of its model as others write it, or as in its label."""
    named = one.model
    if not named and one.label:
        named = next((name for name in known if labels(one.label, name)), "")
    # Folders are named after models with `__` for the slash: the name itself is shorter.
    alike = [name for name in known if plain_name(name) == plain_name(named)]
    return one._replace(model=alike[-1] if alike else named)


def _meant(results: Sequence[Result], one: ResultEntry, own: bool) -> list[Result]:
    """Return the results that an entry which names its model may be a part of: those with its
    patch, else those of its own folder, else any; `own` means that the folder belongs to it
    alone."""
    fits = [result for result in results if _same(result.entry, one)]
    digest = patch_digest(one)
    alike = [result for result in fits if digest is not None and result.patch == digest]
    near = [result for result in fits if result.entry.place == one.place]
    if alike or near or own:
        return alike or near
    return fits


def _before(
    results: Sequence[Result], one: ResultEntry, homes: Mapping[str, Collection[str]]
) -> list[Result]:
    """Return the results imported earlier that belong to the only predictions of their model, from
    folders without predictions: in one import they would have been joined with those."""
    runs = [
        place for place, models in homes.items() if plain_name(one.model) in map(plain_name, models)
    ]
    if runs != [one.place] or not one.model:
        return []
    return [
        result
        for result in results
        if result.entry.stored is not None
        and result.entry.place not in homes
        and patch_digest(result.entry) is None
        and _same(result.entry, one)
    ]


def patch_digest(entry: ResultEntry) -> str | None:
    """Return the digest of the patch that a result is about, without text that tools add around it;
    None when it is not known."""
    if entry.digest:
        return entry.digest
    state = entry.final_state
    patch = state.get("patch") if isinstance(state, dict) else None
    return digest_of(patch) if isinstance(patch, str) and patch.strip() else None


def digest_of(patch: str) -> str:
    """Return the digest of a patch from its first header on, with normalized line ends: tools trim
    and convert these."""
    text = patch.replace("\r\n", "\n")
    start = text.find("diff --git")
    return sha256(text[max(start, 0) :].strip().encode("utf-8", "replace")).hexdigest()


def _into(meant: list[Result], results: list[Result], one: ResultEntry, order: int) -> None:
    """Join an entry with the only result that it can mean; where that is not clear it stays
    separate."""
    if len(meant) == 1:
        meant[0].add(one, order)
    else:
        results.append(Result(one, order))


def _same(one: ResultEntry, two: ResultEntry) -> bool:
    """Return whether two entries that name their model are about one attempt."""
    if one.model and two.model:
        alike = plain_name(one.model) == plain_name(two.model)
    else:
        alike = bool(one.label) and one.label == two.label
    return alike and _agree(one, two)


def _agree(one: ResultEntry, two: ResultEntry) -> bool:
    """Return whether neither patch nor run excludes that two entries are about one attempt."""
    mine, theirs = patch_digest(one), patch_digest(two)
    if mine is not None and theirs is not None:
        return mine == theirs
    return not one.run or not two.run or one.run == two.run


def _both(one: ResultEntry, two: ResultEntry) -> ResultEntry:
    passed = {v.passed for v in (one.verdict, two.verdict) if v.passed is not None}
    if one.stored is not None and len(passed) > 1:
        return one._replace(
            verdict=structs.replace(one.verdict, passed=False),
            notes=tuple(dict.fromkeys((*one.notes, STANDS))),
        )
    clash = len(passed) > 1 or CONTRADICTION in (*one.notes, *two.notes)
    reward = one.verdict.reward if two.verdict.reward is None else two.verdict.reward
    verdict = SourceVerdict(
        passed=None if clash else next(iter(passed), None),
        reward=reward,
        exception=one.verdict.exception or two.verdict.exception,
        detail={**two.verdict.detail, **one.verdict.detail},
    )
    notes = dict.fromkeys((*one.notes, *two.notes, *((CONTRADICTION,) if clash else ())))
    either = {name: getattr(one, name) or getattr(two, name) for name in _EITHER}
    state = _merged(one.final_state, two.final_state)
    return one._replace(verdict=verdict, final_state=state, notes=tuple(notes), **either)


_EITHER = ("model", "run", "label", "place", "termination", "stored", "digest", "candidate")
"""Members that one entry of a result may leave to another."""


def _merged(one: Any, two: Any) -> Any:
    if isinstance(one, dict) and isinstance(two, dict):
        return {**two, **{name: value for name, value in one.items() if value is not None}}
    return two if one is None else one


def with_doubts(entry: ResultEntry, *notes: str) -> ResultEntry:
    """Return the same entry with its notes in the detail of its verdict: the record they are about
    is in another file and stays unchanged."""
    doubts = list(dict.fromkeys(note for note in (*notes, *entry.notes) if note))
    if not doubts:
        return entry
    detail = {**entry.verdict.detail, "notes": doubts}
    return entry._replace(verdict=structs.replace(entry.verdict, detail=detail))


def without_word(verdict: SourceVerdict) -> SourceVerdict:
    return SourceVerdict(exception=verdict.exception, detail=verdict.detail)


def plain_name(model: str) -> str:
    return model.replace("/", "__").casefold()


_VERSION = re.compile(r"\d{1,2}($|[-._])")


def labels(label: str, model: str) -> bool:
    """Return whether a label `<model>.<run>` names this model; `gpt-4.1.run` does not name
    gpt-4."""
    whole, name = plain_name(label), plain_name(model)
    if not name or not whole.startswith(name):
        return False
    rest = whole[len(name) :]
    return not rest or (rest[0] == "." and not _VERSION.match(rest[1:]))


def named_by(result: Result, names: Iterable[str]) -> bool:
    """Return whether a result names one of these models."""
    entry = result.entry
    if entry.model:
        return any(plain_name(entry.model) == plain_name(name) for name in names)
    return any(labels(entry.label, name) for name in names)


OTHER_PATCH = "a result names this instance but holds another patch: it was not joined"
OTHER_MODEL = "the result joined names another model than the trajectory"
UNCLEAR = "several results may be meant for this trajectory: none was joined"


class EarlierResults(Protocol):
    """The results of earlier imports."""

    def results(self, instance_id: str) -> Sequence[ResultEntry]:
        """Return the stored entries about an instance."""
        ...

    def homes(self, model: str, place: str) -> Collection[str]:
        """Return the candidates of this model, by its plain name, whose trajectories are below a
        place."""
        ...


class Joins:
    """Results by instance id, and which of them found their trajectory. `before` returns those in
    the store."""

    def __init__(self, before: EarlierResults | None = None) -> None:
        self._before = before
        self._entries: dict[str, list[ResultEntry]] = {}
        self._results: dict[str, list[Result]] = {}
        self._models: dict[str, set[str]] = {}  # by the place of the run
        self._by_path: dict[str, dict[str, None]] = {}
        self._candidates: dict[str, set[str]] = {}  # by model
        self._homes: dict[str, set[str]] = {}  # models of predictions, by their place
        self._runs: set[str] = set()
        self._asked: set[str] = set()
        self._ran: dict[str, list[RunPlace]] = {}  # by model

    def add(self, instance_id: str, joined: ResultEntry) -> None:
        """Add an entry of a result file about an instance. All entries are added before any is
        taken."""
        joined = joined._replace(digest=patch_digest(joined) or "")
        self._by_path.setdefault(joined.path, {})[instance_id] = None
        self.model(joined)
        self._home(joined)
        self._entries.setdefault(instance_id, []).append(joined)
        self._results.pop(instance_id, None)

    def _home(self, joined: ResultEntry) -> None:
        state = joined.final_state if isinstance(joined.final_state, dict) else {}
        predicted = joined.verdict.passed is None and bool(state.get("patch"))
        if joined.place and (predicted or PREDICTION in joined.verdict.detail):
            self._homes.setdefault(joined.place, set()).update(filter(None, (joined.model,)))

    def model(self, joined: ResultEntry) -> None:
        """Record the model that a result names, and the place of its run."""
        if joined.model:
            self._models.setdefault(joined.place, set()).add(joined.model)

    def models(self) -> tuple[str, ...]:
        """Return plain names of the models in this import."""
        found = (plain_name(name) for some in self._models.values() for name in some)
        return tuple(dict.fromkeys((*self._candidates, *self._ran, *found)))

    def named(self, joined: ResultEntry) -> ResultEntry:
        """Return a result under the name of its model in this import."""
        return with_model(joined, known_models(self._models))

    def run_at(self, path: Path) -> None:
        """Record where a trajectory is: results in a folder above it belong to its run."""
        folders = path.absolute().parents
        self._runs |= {str(folder) for folder in folders}

    def once(self, path: str) -> Iterator[str]:
        """Yield the instances that a file is about and no file before it was."""
        for instance_id in self.instances(path):
            if instance_id not in self._asked:
                self._asked.add(instance_id)
                yield instance_id

    def instances(self, path: str) -> tuple[str, ...]:
        """Return every instance that a file is about; none when none of its entries was added."""
        return tuple(self._by_path.get(path, ()))

    def beyond(self, label: str, instances: Collection[str]) -> int:
        """Return how many other instances than these have a result of the model that `label`
        names."""
        return sum(
            any(labels(label, one.model) for one in entries if one.model)
            for instance_id, entries in self._entries.items()
            if instance_id not in instances
        )

    def knows(self, instance_id: str) -> bool:
        """Return whether an instance has any result."""
        return bool(self._of(instance_id))

    def take(
        self,
        instance_id: str,
        *names: str,
        patch: str | None = None,
        path: Path | None = None,
        candidate: str = "",
        model: str = "",
    ) -> tuple[ResultEntry | None, str]:
        """Return (the result for a trajectory, a note). `names` are possible names of its model,
        `model` is its certain model, `patch` its submission, `path` its place. The same patch
        decides which result belongs to it; then the model's name, then the nearest folder. None,
        with a note, when that leaves several, or one about another submission."""
        if model and path is not None:
            self._ran.setdefault(plain_name(model), []).append(_ran(candidate, path.absolute()))
        wanted = digest_of(patch) if patch and patch.strip() else None
        fits = self.meant(instance_id, names, wanted, path)
        if not fits:
            able = self._able(instance_id, wanted)
            unclear = any(not one.taken for one in able)
            other = bool(self._of(instance_id)) and not able
            return None, OTHER_PATCH if other else UNCLEAR if unclear else ""
        return self.carry(fits, names, wanted, candidate)

    def meant(
        self,
        instance_id: str,
        names: Sequence[str],
        wanted: str | None,
        path: Path | None,
        *,
        fresh: bool = False,
    ) -> list[Result]:
        """Return the results for a trajectory: none when that is unclear. `wanted` is the digest of
        its patch; `fresh` limits them to those to which this import adds something."""
        able = [one for one in self._able(instance_id, wanted) if one.paths or not fresh]
        same = [one for one in able if wanted is not None and one.patch == wanted]
        # Two models may submit the same patch: then the name decides.
        if own := [one for one in same if named_by(one, names)]:
            return own
        above = {str(folder) for folder in path.absolute().parents} if path else set()
        # Results beside trajectories are about those, and not about another run's.
        able = [
            one for one in able if one.entry.place in above or one.entry.place not in self._runs
        ]
        # A result that names no model is about the only run of its folder.
        able = [
            one
            for one in able
            if not one.loose
            or one in same
            or (one.entry.place in above and _in_run(path, one.entry.place))
        ]
        if own := [one for one in able if named_by(one, names)] or same:
            return own
        # A result elsewhere that another trajectory took belongs to that one.
        free = [one for one in able if not one.taken]
        # Without a name, or with another name: a file in the folder of a trajectory's run belongs
        # to it.
        near = [one for one in free if one.entry.place in above and _in_run(path, one.entry.place)]
        deepest = max((len(one.entry.place) for one in near), default=0)
        nearest = [one for one in near if len(one.entry.place) == deepest]
        # Results of an unknown place from the same paths may belong together, whatever their names;
        # results of another import may not. A folder belongs to one run.
        here = [] if fresh else [one for one in free if not (one.entry.stored or one.entry.place)]
        for some in (nearest, [one for one in here if not one.entry.model], here):
            if len(some) == 1:
                return some
        return []

    def carry(
        self, fits: Sequence[Result], names: Sequence[str], wanted: str | None, candidate: str
    ) -> tuple[ResultEntry, str]:
        """Return (the verdict of the results for a trajectory, a note), and mark them as taken."""
        best = next((one for one in fits if one.entry.verdict.passed is not None), fits[0]).entry
        stored = (one.entry.stored for one in fits if one.entry.stored is not None)
        best = best._replace(stored=next(stored, None))
        same = wanted is not None and fits[0].patch == wanted
        sure = same or not (best.model or best.label) or not names or named_by(fits[0], names)
        for one in fits:
            one.taken = True
            if sure and candidate:
                self._candidates.setdefault(plain_name(one.entry.model), set()).add(candidate)
        note = "" if sure else OTHER_MODEL
        if len({one.entry.verdict.passed for one in fits} - {None}) > 1:
            best, note = best._replace(verdict=without_word(best.verdict)), CONTRADICTION
        return with_doubts(best, note), note

    def hold(self, fits: Sequence[Result]) -> None:
        """Mark results whose trajectories exist: they become no attempt."""
        for one in fits:
            one.taken = True

    def candidate_of(self, joined: ResultEntry) -> str:
        """Return the only candidate whose trajectories took results of this model, or are in the
        folder of the run: an attempt of the model without a trajectory belongs to that candidate
        too. A result that names no model belongs to the candidate whose run has its folder. Empty
        when there is none, or more than one."""
        if not joined.model and not joined.label:
            runs = [one for some in self._ran.values() for one in some if joined.place in one.own]
            found = {one.candidate for one in runs}
            return next(iter(found)) if len(found) == 1 else ""
        named = (name for name in self._ran if labels(joined.label, name))
        model = plain_name(joined.model) or max(named, key=len, default="")
        if not model:
            return ""
        found = self._candidates.get(model, set())
        if not found:
            found = {one.candidate for one in self._ran.get(model, ()) if joined.place in one.above}
            found |= set(self._before.homes(model, joined.place)) if self._before else set()
        return next(iter(found)) if len(found) == 1 else ""

    def left(self, path: str) -> Iterator[tuple[str, ResultEntry]]:
        """Yield (instance id, the result) of results without a trajectory that `path` is about, and
        that were not yielded for an earlier file."""
        for instance_id in self.instances(path):
            for result in self._of(instance_id):
                if path in result.paths and not (result.taken or result.given):
                    result.given = True
                    yield instance_id, result.entry

    def _able(self, instance_id: str, wanted: str | None) -> list[Result]:
        """Return results that are not about another patch."""
        found = self._of(instance_id)
        return [one for one in found if wanted is None or one.patch in (None, wanted)]

    def _of(self, instance_id: str) -> list[Result]:
        results = self._results.get(instance_id)
        if results is None:
            before = self._before.results(instance_id) if self._before else ()
            for one in before:
                self.model(one)
                self._home(one)
            entries = [*before, *self._entries.get(instance_id, ())]
            results = self._results[instance_id] = settled(entries, self._models, self._homes)
        return results


class RunPlace(NamedTuple):
    """A trajectory: its candidate, the folders above it, and those of them that are its run's."""

    candidate: str
    above: frozenset[str]
    own: frozenset[str]


@lru_cache(maxsize=256)
def _ran(candidate: str, path: Path) -> RunPlace:
    above = [str(folder) for folder in path.parents]
    return RunPlace(candidate, frozenset(above), frozenset(a for a in above if _in_run(path, a)))


_WITHIN = frozenset({"trajs", "trajectories", "traj", "logs", "runs", "outputs"})


def _in_run(path: Path | None, place: str) -> bool:
    """Return whether a trajectory is directly in this folder, or below it in a folder named after
    its instance or its content."""
    if path is None:
        return False
    inner = path.absolute().parent.relative_to(place).parts
    return all(one == _bare(path.name) or one.casefold() in _WITHIN for one in inner)


_ENDINGS = (".traj.json", ".traj", ".jsonl", ".json")


def _bare(name: str) -> str:
    """Return a file's name as the instance that it may be named after."""
    return next((name.removesuffix(end) for end in _ENDINGS if name.endswith(end)), name)
