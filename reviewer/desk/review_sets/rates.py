"""A review set as people see it: progress, rates of its random part, counts of its flags."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from reviewer.desk.labels.sheet import Sheet
from reviewer.desk.review_sets.views import SetFlag, SetItem, SetRate, SetView
from reviewer.review.agreement import SettledItem, settled
from reviewer.review.items import BOTH_BAD, TIE
from reviewer.review.labels import Label, counting, latest
from reviewer.review.sets import Cell, Drawn, ReviewSet, SealedSet, item_of
from reviewer.stats.stratified import Stratum, stratified_rate
from reviewer.suite.rubric import Criterion, Rubric, good_levels

ALL_GOOD = "every question"


class Question(NamedTuple):
    """One question that is answered yes or no. `says` takes the settled item and the digests of the
    unit's messages, and returns None for: not settled."""

    name: str
    says: Callable[[SettledItem, Sequence[str]], bool | None]


def questions_of(held: ReviewSet) -> tuple[Question, ...]:
    """Return the questions of a set, whose answers become shares of units: for messages those of
    its rubric, for pairs which of the two is better."""
    if held.kind == "message":
        rubric = held.rubric
        each = [Question(c.title, _on(c)) for c in rubric.criteria]
        every = Question(ALL_GOOD, lambda found, _: all_good(found, rubric))
        return tuple([every, *each] if len(each) > 1 else each)
    both = (Question("no difference", _is(TIE)), Question("both bad", _is(BOTH_BAD)))
    if not held.source.baseline_id:
        return both
    return (
        Question("the candidate is better", lambda found, m: _won(found, m[1])),
        Question("the baseline is better", lambda found, m: _won(found, m[0])),
        *both,
    )


def _on(criterion: Criterion) -> Callable[[SettledItem, Sequence[str]], bool | None]:
    return lambda found, _: _good(found, criterion)


def _is(answer: str) -> Callable[[SettledItem, Sequence[str]], bool | None]:
    return lambda found, _: _won(found, answer)


def _won(found: SettledItem, answer: str) -> bool | None:
    return None if found.winner is None else found.winner == answer


def _good(found: SettledItem, criterion: Criterion) -> bool | None:
    level = found.marks.get(criterion.criterion_id)
    return None if level is None else level in good_levels(criterion)


def all_good(found: SettledItem, rubric: Rubric) -> bool | None:
    """Return whether an item is good by every question: one bad answer is enough for False; None:
    not settled."""
    marks = [_good(found, criterion) for criterion in rubric.criteria]
    return False if False in marks else None if None in marks else True


def bad_questions(found: SettledItem, rubric: Rubric) -> tuple[str, ...]:
    """Return the questions that are settled against an item, by their titles."""
    return tuple(c.title for c in rubric.criteria if _good(found, c) is False)


class _Said(NamedTuple):
    """A drawn unit with its item, and the settled answers on it; None when there are none. `passed`
    says that somebody skipped the item or took the label back, and that it has no other label."""

    one: Drawn
    item: str
    found: SettledItem | None
    passed: bool


def set_view(sealed: SealedSet, at: str, sheet: Sheet, labels: Sequence[Label]) -> SetView:
    """Return a set and what people said of it."""
    held, here = sealed.held, [x for x in labels if x.item in sheet.items]
    said, known = counting(here), {one.item: one for one in settled(here)}
    labeled = {x.item for x in said}
    skipped = {x.item for x in latest(here).values() if x.skipped is not None and not x.withdrawn}
    # A label that was taken back says nothing, but the item was not left out by lot.
    passed = skipped | {x.item for x in latest(here).values() if x.withdrawn}
    skipped, passed = skipped - labeled, passed - labeled
    units = [_Said(one, name, known.get(name), name in passed) for one in held.units
             for name in (item_of(sealed, one.unit),)]  # fmt: skip
    questions = questions_of(held)
    drawn = [one for one in units if one.one.place]
    return SetView(
        name=sealed.name,
        uid=sealed.uid,
        at=at,
        suite_id=held.source.suite_id,
        candidates=held.source.candidates,
        baseline_id=held.source.baseline_id,
        files=len(held.source.files),
        kind=held.kind,
        sample=held.sample,
        seed=held.seed,
        strata=held.strata,
        size=held.size,
        population=held.population,
        left_out=held.left_out,
        rubric=f"{held.rubric.rubric_id} {held.rubric.version}",
        units=len(units),
        drawn=len(drawn),
        picked=len(units) - len(drawn),
        gone=sum(one.item not in sheet.items for one in units),
        items=len(sheet.items),
        labeled=len(labeled),
        skipped=len(skipped),
        open=sum(one.by is None for one in known.values()),
        reviewers=tuple(sorted({x.reviewer for x in said})),
        rates=tuple(_rates(held, questions, drawn)),
        flags=tuple(_flags(held, questions, units)),
        answered=tuple(_answered(sheet, questions, units, labeled)),
        about=held.about or "",
    )


def _rates(
    held: ReviewSet, questions: Sequence[Question], drawn: Sequence[_Said]
) -> Iterable[SetRate]:
    """Yield the rates of each question: overall, then for each value of each dimension."""
    parts: list[tuple[str, str, list[Cell]]] = [("", "", list(held.cells))]
    for place, dimension in enumerate(held.strata):
        for value in sorted({cell.values[place] for cell in held.cells}):
            some = [cell for cell in held.cells if cell.values[place] == value]
            parts.append((dimension, value, some))
    for question in questions:
        answers = _answers(question, drawn)
        for name, value, cells in parts:
            yield _rate(question.name, name, value, cells, answers)


_Answers = dict[tuple[str, ...], list[bool | None]]


def _answers(question: Question, drawn: Iterable[_Said]) -> _Answers:
    """Return the answers of each cell; None is an answer that is not settled, or was skipped. An
    item that nobody reached is not among them: the order of the queue is by lot."""
    found: _Answers = {}
    for each in drawn:
        if each.found is not None:
            answer = question.says(each.found, each.one.unit.messages)
            found.setdefault(each.one.unit.cell, []).append(answer)
        elif each.passed:
            found.setdefault(each.one.unit.cell, []).append(None)
    return found


def _rate(
    name: str,
    dimension: str,
    value: str,
    cells: Sequence[Cell],
    answers: Mapping[tuple[str, ...], list[bool | None]],
) -> SetRate:
    counts = [(cell.size, Counter(answers.get(cell.values, ()))) for cell in cells]
    strata = [Stratum(size, each[True] + each[False], each[True]) for size, each in counts]
    n, hits = sum(one.n for one in strata), sum(one.hits for one in strata)
    not_settled = sum(each[None] for _, each in counts)
    # People differ on the hard items: a rate of the others alone would look better than it is.
    all_no = stratified_rate([Stratum(size, each.total(), each[True]) for size, each in counts])
    all_yes = stratified_rate(
        [Stratum(size, each.total(), each.total() - each[False]) for size, each in counts]
    )
    rate = stratified_rate(strata)
    silent = sum(not one.n for one in strata)
    why = ""
    if rate is None and not n:
        why = "no answer is settled yet" if not_settled else "no answer yet"
    elif rate is None:
        why = f"{silent} of {len(strata)} strata have no answer yet"
    return SetRate(
        question=name,
        dimension=dimension,
        stratum=value,
        size=sum(one.size for one in strata),
        drawn=sum(cell.drawn for cell in cells),
        n=n,
        hits=hits,
        open=not_settled,
        value=None if rate is None else rate.value,
        low=None if rate is None or all_no is None else all_no.low,
        high=None if rate is None or all_yes is None else all_yes.high,
        why=why,
    )


def _flags(
    held: ReviewSet, questions: Sequence[Question], units: Sequence[_Said]
) -> Iterable[SetFlag]:
    for rule in held.flags:
        mine = [one for one in units if rule.flag in one.one.unit.flags]
        known = [(one.found, one.one.unit.messages) for one in mine if one.found is not None]
        counts = []
        for question in questions:
            answers = [question.says(found, messages) for found, messages in known]
            counts.append((question.name, answers.count(True), len(answers) - answers.count(None)))
        yield SetFlag(
            flag=rule.flag,
            rule=rule.rule,
            picked=rule.picked,
            unknown=rule.unknown,
            labeled=len(known),
            answers=tuple(counts),
        )


def _answered(
    sheet: Sheet, questions: Sequence[Question], units: Sequence[_Said], labeled: set[str]
) -> Iterable[SetItem]:
    """Yield every item with an answer, by episode, with its source, which is revealed only now."""
    of_item: dict[str, list[_Said]] = {}
    for one in units:
        if one.item in labeled and one.found is not None:
            of_item.setdefault(one.item, []).append(one)
    for name, same in sorted(of_item.items(), key=lambda e: (e[1][0].one.unit.episode_id, e[0])):
        first, found = same[0].one.unit, same[0].found
        assert found is not None  # only settled items are in this list
        yield SetItem(
            item=name,
            episode_id=first.episode_id,
            traces=sheet.items[name].traces,
            flags=tuple(dict.fromkeys(flag for one in same for flag in one.one.unit.flags)),
            random=any(one.one.place for one in same),
            answers=tuple((q.name, q.says(found, first.messages)) for q in questions),
        )
