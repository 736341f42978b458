"""What ran: the code of the attempts and the facts noted with it, as the runner measured them; what
is missing of it before a promotion, and what a reader must know about it."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, structs

from reviewer.report.formatting import named, plural
from reviewer.suite.code import REWRITTEN

MOST_MEASUREMENTS = 50
"""Measurements that a report lists; each fingerprint of an endpoint makes a separate one."""
UNBOUND = "imported, or made before the runner measured what it ran"


class ProgramSection(Struct, frozen=True, kw_only=True):
    """The program that interprets the code."""

    name: str
    sha256: str


class ModelSection(Struct, frozen=True, kw_only=True):
    """The model that answered, as the endpoint named it."""

    model: str | None
    fingerprint: str | None


class MeasuredCode(Struct, frozen=True, kw_only=True):
    """`pinned` says whether the manifest names the digest; `changed_to` is a different digest that
    the code had at the end of the attempt, `unreadable`, or `rewritten` for the same digest in
    files that were written during the attempt."""

    sha256: str
    files: int
    pinned: bool
    changed_to: str | None


class Measurement(Struct, frozen=True, kw_only=True):
    """What was measured for `attempts`, with the measurement's own digest."""

    sha256: str = ""
    attempts: int = 0
    kind: str
    code: MeasuredCode
    models: tuple[ModelSection, ...]
    interpreter: ProgramSection | None
    platform: str | None
    toolset: str | None
    toolkits: str | None
    approvals: str
    network: bool
    isolation: str | None = None
    seed: int


class CodeCount(Struct, frozen=True, kw_only=True):
    """One code, and the number of its attempts."""

    sha256: str
    files: int
    pinned: bool
    attempts: int


class RanSection(Struct, frozen=True, kw_only=True):
    """What ran, in report.json. `bound` attempts have a measured code, `not_bound` ones have none;
    `changed` ones ended with another code than they began with. The judge is not part of it: it
    takes no part in a run, and has its own section."""

    bound: int
    not_bound: int
    changed: int
    codes: tuple[CodeCount, ...]
    models: tuple[ModelSection, ...]
    measurements: tuple[Measurement, ...]
    measurements_left_out: int

    @property
    def summary(self) -> str:
        """Return the bound code, in one line."""
        of = self.bound + self.not_bound
        if not self.bound:
            return f"code not bound ({plural(of, 'attempt')} {UNBOUND})"
        digests = named([one.sha256[:12] for one in self.codes])
        pinned = all(one.pinned for one in self.codes)
        told = f"code {digests}, {'' if pinned else 'not '}pinned by the manifest"
        if self.not_bound:
            told += f"; code not bound in {self.not_bound} of {plural(of, 'attempt')} ({UNBOUND})"
        if self.changed:
            told += f"; changed during {plural(self.changed, 'attempt')}"
        return told


class Lack(Struct, frozen=True, kw_only=True):
    """One thing that is missing for a promotion in what ran."""

    what: str
    observed: str
    policy: str
    need: str


def ran_section(measured: Sequence[Measurement], attempts: int) -> RanSection:
    """Return the section of a report; `attempts` is the number of attempts made."""
    bound = sum(one.attempts for one in measured)
    listed = tuple(measured[:MOST_MEASUREMENTS])
    return RanSection(
        bound=bound,
        not_bound=max(0, attempts - bound),
        changed=_changed(measured),
        codes=tuple(_codes(measured)),
        models=tuple(_models(measured)),
        measurements=listed,
        measurements_left_out=len(measured) - len(listed),
    )


def _changed(measured: Iterable[Measurement]) -> int:
    return sum(one.attempts for one in measured if one.code.changed_to is not None)


def _codes(measured: Iterable[Measurement]) -> list[CodeCount]:
    found: dict[tuple[str, bool], CodeCount] = {}
    for one in measured:
        code = one.code
        key = code.sha256, code.pinned
        known = found.get(key)
        found[key] = CodeCount(
            sha256=code.sha256,
            files=code.files,
            pinned=code.pinned,
            attempts=one.attempts + (known.attempts if known else 0),
        )
    return list(found.values())


def _models(measured: Iterable[Measurement]) -> list[ModelSection]:
    return list(dict.fromkeys(model for one in measured for model in one.models))


def lacks(
    measured: Sequence[Measurement],
    attempts: int,
    suite_id: str,
    candidate_id: str,
    required: bool,
) -> Iterator[Lack]:
    """Yield what is missing of what ran before a promotion. `required` says whether the policy
    requires the code of every attempt to be bound."""
    again = "a new version of the candidate, and its attempts made again"
    codes = {one.sha256 for one in _codes(measured)}
    if len(codes) > 1:
        counts = named([f"{one.sha256[:12]} × {one.attempts}" for one in _codes(measured)])
        yield Lack(
            what=f"one code: {len(codes)} codes ran as {candidate_id} ({counts})",
            observed=f"{len(codes)} codes",
            policy="one code per candidate",
            need=f"attempts of one code ({again})",
        )
    written = sum(one.attempts for one in measured if one.code.changed_to == REWRITTEN)
    if written:
        yield Lack(
            what=f"one code: its files were written during {plural(written, 'attempt')} of "
            f"{candidate_id}, so what ran may have been another",
            observed=f"{plural(written, 'attempt')} during which files of the code were written",
            policy="the same code from beginning to end",
            need=f"attempts during which nobody writes the code ({again})",
        )
    if count := _changed(measured) - written:
        yield Lack(
            what=f"one code: it changed during {plural(count, 'attempt')} of {candidate_id}",
            observed=f"{plural(count, 'attempt')} ended with another code",
            policy="the same code from beginning to end",
            need=f"attempts during which the code stays as it is ({again})",
        )
    if count := sum(one.attempts for one in measured if not one.code.pinned):
        yield Lack(
            what=f"digest of the code in candidates/{candidate_id}.json: it pins no code, and "
            f"{plural(count, 'attempt')} ran what lay there",
            observed=f"{plural(count, 'attempt')} of code that is not pinned",
            policy="a manifest that pins the code",
            need="runner.code_sha256 in the manifest (reviewer suite code "
            f"{suite_id} {candidate_id} prints it): {again}",
        )
    for name in ("toolset", "toolkits"):
        values = {getattr(one, name) for one in measured} - {None}
        if len(values) > 1:
            yield Lack(
                what=f"one environment: the suite's {name} was another one in some attempts",
                observed=f"{len(values)} digests",
                policy="one environment",
                need=f"attempts in one environment ({again})",
            )
    unbound = attempts - sum(one.attempts for one in measured)
    if required and unbound > 0:
        yield Lack(
            what=f"code of {unbound} of {plural(attempts, 'attempt')} (code not bound: {UNBOUND})",
            observed=f"code not bound in {unbound} of {attempts}",
            policy="code_bound: required",
            need=f"{plural(unbound, 'attempt')} made by reviewer run",
        )


def remarks(measured: Sequence[Measurement]) -> Iterator[str]:
    """Yield what a reader must know about what ran, even though it does not hold a promotion."""
    models = _models(measured)
    if len(models) > 1:
        said = named([" ".join(filter(None, structs.astuple(one))) or "-" for one in models])
        yield (
            f"The endpoint named {len(models)} models or fingerprints during these attempts, so "
            f"more than one system may have answered: {said}."
        )
    programs = list(dict.fromkeys(one.interpreter for one in measured if one.interpreter))
    if len(programs) > 1:
        said = named([f"{one.name} ({one.sha256[:12]})" for one in programs])
        yield f"The attempts ran under {len(programs)} interpreters: {said}."
    open_here = sum(one.attempts for one in measured if one.isolation == "none")
    if open_here:
        yield (
            f"{plural(open_here, 'attempt')} ran without isolation: the program could read caches "
            "and other candidates' files, which are not measured as its code."
        )
