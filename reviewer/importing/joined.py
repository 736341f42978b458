"""What one result file says of an instance, and how what several say becomes one result.

A patch tells more than a name, a name more than a folder: files that give neither are about the
one run that lies in their folder, or about nobody knows whose. What lies with predictions or
trajectories of its own is about those, and not about another folder's.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import structs

from reviewer.trace.record import SourceVerdict


class Joined(NamedTuple):
    """What a file says of an instance (a SWE-bench report of a trajectory).

    `final_state` is the state it checked or was given: an object whose `patch`, where there is
    one, tells which attempt is meant. `model` and `run` are as the file writes them, empty when it
    does not; `label` is a name that holds the model's and more (`<model>.<run>`), `place` the
    folder of the run. `termination` is set when the harness and not the agent ended it.

    What was imported before and became an attempt known by its result alone says the same once
    more: `stored` is that attempt (its trace and its evidence), `digest` that of its patch, of
    which the store may hold a masked copy, and `candidate` the candidate that it was given to.
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
"""What the detail of a verdict holds that was made of a prediction."""
CONTRADICTION = "result files contradict each other about this instance: no verdict was taken"
NO_TRAJECTORY = "no trajectory: the attempt is known by its result alone"
UNSCORED = "no report of this instance: unscored, which is not failed"
RUNS_OWN = "the candidate is that of the run's trajectories"
UNNAMED = "no file names the model: the candidate is taken from the path"
OF_ATTEMPT = frozenset({NO_TRAJECTORY, UNSCORED, RUNS_OWN, UNNAMED})
"""Notes on an attempt that was made of a result, and not by the result's files."""
UNCLEAR_MODEL = (
    "unclear:model ({} of no named model, and no file of their run names it: held. Import them with"
    " the predictions or trajectories of their run, or say whose they are with --candidate)"
)
"""Why verdicts are kept back that nobody can be given; to be filled with how many there are."""
STANDS = "results imported before say otherwise of the same attempt: that it failed holds"


class Result:
    """All that is said of one attempt, and whether a trajectory carries it."""

    def __init__(self, said: Joined, order: int) -> None:
        self.said, self.order = said, order
        self.paths = set() if said.stored else {said.path}
        """The files of this import that speak of it."""
        self.taken = self.told = False

    @property
    def loose(self) -> bool:
        """Return whether no file says whose it is."""
        return not self.said.model and not self.said.label

    @property
    def patch(self) -> str | None:
        """The digest of its patch, None when that is not known."""
        return patch_digest(self.said)

    def add(self, other: Joined, order: int) -> None:
        self.order = min(order, self.order)
        self.paths.add(other.path)
        self.said = _both(self.said, other)


def settled(
    said: Sequence[Joined],
    models: Mapping[str, Collection[str]],
    homes: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> list[Result]:
    """What is said of one instance, an entry per attempt. `models` are the names known in the
    import by place: labels are read as theirs. `homes` are places of runs that have predictions,
    with the models those name: results there are of no other run, and one that names no model
    is that model's. Of reports alone no run is known: those of many may lie together."""
    known = known_models(models)
    results: list[Result] = []
    loose: list[tuple[int, Joined]] = []
    # What stands in the store first, then predictions: a patch tells more than a name.
    ranked = sorted(
        enumerate(said), key=lambda one: (one[1].stored is None, patch_digest(one[1]) is None)
    )
    for order, one in ranked:
        own = one.place in homes
        if not one.model and not one.label:
            here = {*map(plain_name, homes.get(one.place, ()))}
            one = one._replace(model=here.pop() if len(here) == 1 else "")
            own = True
        one = with_model(one, known)
        if one.stored is not None:  # an attempt by itself already
            results.append(Result(one, order))
        elif one.model or one.label:
            meant = _meant(results, one, own) or _before(results, one, homes)
            _into(meant, results, one, order)
        else:
            loose.append((order, one))
    for order, one in loose:
        able = [result for result in results if _agree(result.said, one)]
        digest = patch_digest(one)
        alike = [result for result in able if digest is not None and result.patch == digest]
        # Reports of several models may lie together: what names none is of none of those.
        near = [result for result in able if result.said.place == one.place and result.loose]
        _into(near or alike, results, one, order)
    return sorted(results, key=lambda result: result.order)


def known_models(models: Mapping[str, Collection[str]]) -> list[str]:
    """Names of models by place, the longest first."""
    names = {name for some in models.values() for name in some}
    return sorted(names, key=lambda name: (len(name), name), reverse=True)


def with_model(one: Joined, known: Sequence[str]) -> Joined:
    """A result under the name of its model as others write it, or as its label has it."""
    named = one.model
    if not named and one.label:
        named = next((name for name in known if labels(one.label, name)), "")
    # Folders are named after models with `__` for the slash: the name itself is shorter.
    alike = [name for name in known if plain_name(name) == plain_name(named)]
    return one._replace(model=alike[-1] if alike else named)


def _meant(results: Sequence[Result], one: Joined, own: bool) -> list[Result]:
    """The results of which one that names its model may be a part: those with its patch, else
    those of its own folder, else any; `own` says that it is its folder's alone."""
    fits = [result for result in results if _same(result.said, one)]
    digest = patch_digest(one)
    alike = [result for result in fits if digest is not None and result.patch == digest]
    near = [result for result in fits if result.said.place == one.place]
    if alike or near or own:
        return alike or near
    return fits


def _before(
    results: Sequence[Result], one: Joined, homes: Mapping[str, Collection[str]]
) -> list[Result]:
    """The results that were imported before the only predictions of their model, from where none
    lie: in one import they would have become a part of those."""
    runs = [
        place for place, models in homes.items() if plain_name(one.model) in map(plain_name, models)
    ]
    if runs != [one.place] or not one.model:
        return []
    return [
        result
        for result in results
        if result.said.stored is not None
        and result.said.place not in homes
        and patch_digest(result.said) is None
        and _same(result.said, one)
    ]


def patch_digest(said: Joined) -> str | None:
    """The digest of the patch a result is about, without what tools add around one; None when it
    is not known."""
    if said.digest:
        return said.digest
    state = said.final_state
    patch = state.get("patch") if isinstance(state, dict) else None
    return digest_of(patch) if isinstance(patch, str) and patch.strip() else None


def digest_of(patch: str) -> str:
    """The digest of a patch from its first header on, with plain line ends: tools trim and convert
    these."""
    text = patch.replace("\r\n", "\n")
    start = text.find("diff --git")
    return sha256(text[max(start, 0) :].strip().encode("utf-8", "replace")).hexdigest()


def _into(meant: list[Result], results: list[Result], one: Joined, order: int) -> None:
    """Make it part of the one result that is meant; where that is not clear it stays by itself."""
    if len(meant) == 1:
        meant[0].add(one, order)
    else:
        results.append(Result(one, order))


def _same(one: Joined, two: Joined) -> bool:
    """Whether two that name their model speak of one attempt."""
    if one.model and two.model:
        alike = plain_name(one.model) == plain_name(two.model)
    else:
        alike = bool(one.label) and one.label == two.label
    return alike and _agree(one, two)


def _agree(one: Joined, two: Joined) -> bool:
    """Whether neither patch nor run stands against two being about one attempt."""
    mine, theirs = patch_digest(one), patch_digest(two)
    if mine is not None and theirs is not None:
        return mine == theirs
    return not one.run or not two.run or one.run == two.run


def _both(one: Joined, two: Joined) -> Joined:
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
    return Joined(
        verdict,
        _merged(one.final_state, two.final_state),
        one.path,
        one.model or two.model,
        one.run or two.run,
        one.label or two.label,
        one.place or two.place,
        one.termination or two.termination,
        tuple(notes),
        one.stored or two.stored,
        one.digest or two.digest,
        one.candidate or two.candidate,
    )


def _merged(one: Any, two: Any) -> Any:
    if isinstance(one, dict) and isinstance(two, dict):
        return {**two, **{name: value for name, value in one.items() if value is not None}}
    return two if one is None else one


def with_doubts(said: Joined, *notes: str) -> Joined:
    """The same with its notes among the facts of its verdict: the record they are about is another
    file's and stays as it is."""
    doubts = list(dict.fromkeys(note for note in (*notes, *said.notes) if note))
    if not doubts:
        return said
    detail = {**said.verdict.detail, "notes": doubts}
    return said._replace(verdict=structs.replace(said.verdict, detail=detail))


def without_word(verdict: SourceVerdict) -> SourceVerdict:
    return SourceVerdict(exception=verdict.exception, detail=verdict.detail)


def plain_name(model: str) -> str:
    return model.replace("/", "__").casefold()


_VERSION = re.compile(r"\d{1,2}($|[-._])")


def labels(label: str, model: str) -> bool:
    """Whether a label `<model>.<run>` names this model; `gpt-4.1.run` does not name gpt-4."""
    whole, name = plain_name(label), plain_name(model)
    if not name or not whole.startswith(name):
        return False
    rest = whole[len(name) :]
    return not rest or (rest[0] == "." and not _VERSION.match(rest[1:]))


def named_by(result: Result, names: Iterable[str]) -> bool:
    """Whether a result names one of these models."""
    said = result.said
    if said.model:
        return any(plain_name(said.model) == plain_name(name) for name in names)
    return any(labels(said.label, name) for name in names)
