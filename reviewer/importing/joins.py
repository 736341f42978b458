"""What result files say of instances, merged and handed to their trajectories.

One run is described by many files (a report per instance, the predictions, a summary). What they
say of one attempt becomes one result here, in whatever order they come; a trajectory takes it, or
else the first file that spoke of it makes an attempt of it. An attempt that was made so by an
earlier import is a result still: it may be said more of, and a trajectory may take it.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from reviewer.importing.joined import (
    CONTRADICTION,
    PREDICTION,
    Joined,
    Result,
    digest_of,
    known_models,
    labels,
    named_by,
    patch_digest,
    plain_name,
    settled,
    with_doubts,
    with_model,
    without_word,
)

OTHER_PATCH = "a result names this instance but holds another patch: it was not joined"
OTHER_MODEL = "the result joined names another model than the trajectory"
UNCLEAR = "several results may be meant for this trajectory: none was joined"


class Before(Protocol):
    """What imports before this one left."""

    def results(self, instance_id: str) -> Sequence[Joined]:
        """What was made of results of an instance."""
        ...

    def homes(self, model: str, place: str) -> Collection[str]:
        """The candidates of this model, by its plain name, whose trajectories lie below a
        place."""
        ...


class Joins:
    """Results by instance id, and which of them found their trajectory. `before` gives those that
    the store holds."""

    def __init__(self, before: Before | None = None) -> None:
        self._before = before
        self._said: dict[str, list[Joined]] = {}
        self._results: dict[str, list[Result]] = {}
        self._models: dict[str, set[str]] = {}  # by the place of the run
        self._by_path: dict[str, dict[str, None]] = {}
        self._candidates: dict[str, set[str]] = {}  # by model
        self._homes: dict[str, set[str]] = {}  # models of predictions, by their place
        self._runs: set[str] = set()
        self._asked: set[str] = set()
        self._ran: dict[str, list[_Ran]] = {}  # by model

    def add(self, instance_id: str, joined: Joined) -> None:
        """Note what a result file says of an instance. Everything is added before anything is
        taken."""
        joined = joined._replace(digest=patch_digest(joined) or "")
        self._by_path.setdefault(joined.path, {})[instance_id] = None
        self.model(joined)
        self._home(joined)
        self._said.setdefault(instance_id, []).append(joined)
        self._results.pop(instance_id, None)

    def _home(self, joined: Joined) -> None:
        state = joined.final_state if isinstance(joined.final_state, dict) else {}
        predicted = joined.verdict.passed is None and bool(state.get("patch"))
        if joined.place and (predicted or PREDICTION in joined.verdict.detail):
            self._homes.setdefault(joined.place, set()).update(filter(None, (joined.model,)))

    def model(self, joined: Joined) -> None:
        """Note the model that a result names, and the place of its run."""
        if joined.model:
            self._models.setdefault(joined.place, set()).add(joined.model)

    def models(self) -> tuple[str, ...]:
        """Plain names of the models that this import met."""
        said = (plain_name(name) for some in self._models.values() for name in some)
        return tuple(dict.fromkeys((*self._candidates, *self._ran, *said)))

    def named(self, joined: Joined) -> Joined:
        """A result under the name of its model as this import knows it."""
        return with_model(joined, known_models(self._models))

    def run_at(self, path: Path) -> None:
        """Note where a trajectory lies: results of a folder above it are of its run."""
        folders = path.absolute().parents
        self._runs |= {str(folder) for folder in folders}

    def once(self, path: str) -> Iterator[str]:
        """The instances that a file speaks of and no file before it did."""
        for instance_id in self.instances(path):
            if instance_id not in self._asked:
                self._asked.add(instance_id)
                yield instance_id

    def instances(self, path: str) -> tuple[str, ...]:
        """Every instance that a file speaks of; none when nothing that it says was added."""
        return tuple(self._by_path.get(path, ()))

    def beyond(self, label: str, instances: Collection[str]) -> int:
        """How many other instances than these are said to be of the model that `label` names."""
        return sum(
            any(labels(label, one.model) for one in said if one.model)
            for instance_id, said in self._said.items()
            if instance_id not in instances
        )

    def take(
        self,
        instance_id: str,
        *names: str,
        patch: str | None = None,
        path: Path | None = None,
        candidate: str = "",
        model: str = "",
    ) -> tuple[Joined | None, str]:
        """(the result for a trajectory, a note). `names` are what its model may be called, `model`
        is its model for sure, `patch` what it submitted, `path` where it lies. The same patch
        settles which result is meant; then the model's name, then the nearest folder. None, with a
        note, when that leaves several, or one about another submission."""
        if model and path is not None:
            self._ran.setdefault(plain_name(model), []).append(_ran(candidate, path))
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
        """The results that are meant for a trajectory: none when that is unclear. `wanted` is the
        digest of its patch; `fresh` asks for those alone of which this import has something to
        say."""
        able = [one for one in self._able(instance_id, wanted) if one.paths or not fresh]
        same = [one for one in able if wanted is not None and one.patch == wanted]
        # Two models may hand in the same patch: then the name tells.
        if own := [one for one in same if named_by(one, names)]:
            return own
        above = {str(folder) for folder in path.absolute().parents} if path else set()
        # What lies with trajectories of its own is about those, and not about another run's.
        able = [one for one in able if one.said.place in above or one.said.place not in self._runs]
        # What names no model is about the one run of its folder.
        able = [
            one
            for one in able
            if not one.loose
            or one in same
            or (one.said.place in above and _in_run(path, one.said.place))
        ]
        if own := [one for one in able if named_by(one, names)] or same:
            return own
        # A result elsewhere that another trajectory carries is that one's.
        free = [one for one in able if not one.taken]
        # No name, or one that is not this trajectory's: a file in its run's own folder is its.
        near = [one for one in free if one.said.place in above and _in_run(path, one.said.place)]
        deepest = max((len(one.said.place) for one in near), default=0)
        nearest = [one for one in near if len(one.said.place) == deepest]
        # Of results whose place nobody knows, what was named together may be meant together,
        # whatever it is called; not what comes from another import. A folder is a run's own.
        here = [] if fresh else [one for one in free if not (one.said.stored or one.said.place)]
        for some in (nearest, [one for one in here if not one.said.model], here):
            if len(some) == 1:
                return some
        return []

    def carry(
        self, fits: Sequence[Result], names: Sequence[str], wanted: str | None, candidate: str
    ) -> tuple[Joined, str]:
        """(what the results meant for a trajectory say, a note); they are taken."""
        best = next((one for one in fits if one.said.verdict.passed is not None), fits[0]).said
        stored = (one.said.stored for one in fits if one.said.stored is not None)
        best = best._replace(stored=next(stored, None))
        same = wanted is not None and fits[0].patch == wanted
        sure = same or not (best.model or best.label) or not names or named_by(fits[0], names)
        for one in fits:
            one.taken = True
            if sure and candidate:
                self._candidates.setdefault(plain_name(one.said.model), set()).add(candidate)
        note = "" if sure else OTHER_MODEL
        if len({one.said.verdict.passed for one in fits} - {None}) > 1:
            best, note = best._replace(verdict=without_word(best.verdict)), CONTRADICTION
        return with_doubts(best, note), note

    def hold(self, fits: Sequence[Result]) -> None:
        """These results are about trajectories that are there: they make no attempt."""
        for one in fits:
            one.taken = True

    def candidate_of(self, joined: Joined) -> str:
        """The one candidate whose trajectories took results of this model, or lie in the folder
        of the run: an attempt of it that left no trajectory is its too. What names no model is the
        candidate's whose run's own folder it is in. Empty when there is none, or more than one."""
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

    def left(self, path: str) -> Iterator[tuple[str, Joined]]:
        """(instance id, all that is said) of results that found no trajectory, that `path` speaks
        of, and that were not given for a file before it."""
        for instance_id in self.instances(path):
            for result in self._of(instance_id):
                if path in result.paths and not (result.taken or result.told):
                    result.told = True
                    yield instance_id, result.said

    def _able(self, instance_id: str, wanted: str | None) -> list[Result]:
        """Results that are of no other patch."""
        found = self._of(instance_id)
        return [one for one in found if wanted is None or one.patch in (None, wanted)]

    def _of(self, instance_id: str) -> list[Result]:
        results = self._results.get(instance_id)
        if results is None:
            before = self._before.results(instance_id) if self._before else ()
            for one in before:
                self.model(one)
                self._home(one)
            said = [*before, *self._said.get(instance_id, ())]
            results = self._results[instance_id] = settled(said, self._models, self._homes)
        return results


class _Ran(NamedTuple):
    """A trajectory: its candidate, the folders above it, and those of them that are its run's."""

    candidate: str
    above: frozenset[str]
    own: frozenset[str]


def _ran(candidate: str, path: Path) -> _Ran:
    above = [str(folder) for folder in path.absolute().parents]
    return _Ran(candidate, frozenset(above), frozenset(a for a in above if _in_run(path, a)))


_WITHIN = frozenset({"trajs", "trajectories", "traj", "logs", "runs", "outputs"})


def _in_run(path: Path | None, place: str) -> bool:
    """Return whether a trajectory lies in this folder itself, or below it in one that is called
    after its instance or after what it holds."""
    if path is None:
        return False
    inner = path.absolute().parent.relative_to(place).parts
    return all(one == _bare(path.name) or one.casefold() in _WITHIN for one in inner)


_ENDINGS = (".traj.json", ".traj", ".jsonl", ".json")


def _bare(name: str) -> str:
    """A file's name as the instance it may be called after."""
    return next((name.removesuffix(end) for end in _ENDINGS if name.endswith(end)), name)
