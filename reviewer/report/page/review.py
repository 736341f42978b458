"""The page's sections about people, a judge and diagnostics, none of which is a gate."""

from collections.abc import Mapping, Sequence

from msgspec import UNSET

from reviewer.report.formatting import limits, named, number, plural
from reviewer.report.model import Diagnostic, Report, TextDiagnostic
from reviewer.report.opinions import (
    NOTHING,
    SHOWN_PHRASES,
    AskedJudgeSection,
    Cell,
    JudgedMessages,
    JudgeSection,
    LabelsElsewhere,
    RandomPart,
    ReviewSection,
)
from reviewer.report.page_parts import Section, Terms
from reviewer.stats.figures import Estimate, LabelFigures, RandomRate, Share

MOST_NAMED = 5
"""Episodes and criteria named in a sentence, those with the most mistakes first."""


def judge_lines(section: JudgeSection) -> list[str]:
    """Return the sentences on a report's judge section."""
    if not isinstance(section, AskedJudgeSection):
        return [f"Judge: {section.role} ({section.why})."]
    lines = [
        f"{_judge_name(section)}: {section.role} ({section.why}).",
        f"{section.pairs} labeled pairs: forward accuracy "
        f"{number(section.forward_accuracy)}, both orders right "
        f"{number(section.estimates.both_orders_right.value)}, flip rate "
        f"{number(section.flip_rate)}; {section.errors} of {section.calls} calls brought "
        "nothing usable.",
    ]
    for noun, cells in (
        ("episode", section.confusion_by_episode),
        ("criterion", section.confusion_by_criterion),
    ):
        if cells:
            lines.append(f"Right in forward order, by {noun}: {_right(cells)}.")
    if section.needs:
        lines.append(f"To let it score: {section.needs}.")
    return lines + [_message_line(one) for one in section.messages]


def _judge_name(section: AskedJudgeSection) -> str:
    """Return the identity of the judge: its id, its model, and the digest of its prompt."""
    model = "" if section.model is None else f" by {section.model}"
    prompt = section.prompt_digest
    return f"Judge {section.judge_id}{model}" + (
        "" if prompt is None else f", prompt sha256 {prompt[:12]}"
    )


def _message_line(one: JudgedMessages) -> str:
    parts = [f"{name} {number(mean, 2)}" for name, mean in one.means.items()]
    parts += [
        f"{count.hits} of {count.n} {name}"
        for name, count in (("complete", one.complete), ("grounded", one.grounded))
        if count is not None
    ]
    said = ", ".join(parts)
    return f"Judged alone, advisory ({one.preset}, {one.messages} messages): {said}."


def _right(groups: Mapping[str, Sequence[Cell]]) -> str:
    """Return `appeal-009 1 of 2, …`: a judge cannot answer `both_bad`, so a tie counts as right
    there."""
    counts = {}
    for name, cells in groups.items():
        right = sum(
            cell.pairs
            for cell in cells
            if cell.judge == ("tie" if cell.people == "both_bad" else cell.people)
        )
        counts[name] = right, sum(cell.pairs for cell in cells)
    worst = sorted(counts, key=lambda name: (counts[name][0] - counts[name][1], name))
    parts = [f"{name} {counts[name][0]} of {counts[name][1]}" for name in worst[:MOST_NAMED]]
    more = len(worst) - MOST_NAMED
    return ", ".join(parts) + (f" and {more} more in report.json" if more > 0 else "")


def review_lines(section: ReviewSection) -> list[str]:
    """Return the sentences on a report's review section."""
    lines = [
        f"Rubric: {', '.join(section.rubric) or 'none'}; {section.sample} messages "
        f"reviewed, {section.pairs_labelled} of {section.pairs_required} required pairs."
    ]
    if section.labels:
        lines.append(
            f"{section.labels} labels by {', '.join(section.reviewers)}; "
            f"{section.disagreements_open} items wait for a third person; "
            f"{section.random_part.items} of {section.random_part.of} labeled items "
            f"were drawn by lot{_flagged(section.random_part)}."
        )
    if section.elsewhere is not UNSET:
        lines += _elsewhere_lines(section.elsewhere)
    if section.limits is not UNSET:
        lines += _limit_lines(section.limits)
    flags = section.high_flags
    if flags.traces:
        lines.append(f"High flags: {flags.traces}, {flags.open} still open.")
    lines += [
        f"Wording {rule.wording_id}: kept in {rule.holds}, broken in {rule.breaks}, not "
        f"known in {rule.unknown} of {section.wording.checked} messages looked at."
        for rule in section.wording.rules
    ]
    return lines


def _elsewhere_lines(found: LabelsElsewhere) -> list[str]:
    """Return what people said of attempts in other tools, and which of it contradicts the gates."""
    lines = [
        f"From other tools ({', '.join(found.tools)}), not blind and counted apart: "
        f"{plural(found.labels, 'label')} of {plural(found.attempts, 'attempt')} by "
        f"{named(found.annotators)}. No gate, limit, flag or calibration reads them."
    ]
    for one in found.criteria:
        weak = f" ({named(one.first)})" if one.first else ""
        lines.append(
            f"{one.criterion_id}, elsewhere: {one.good} good, {one.weak} weak, {one.open} on which "
            f"people differ; {one.passed_and_weak} that passed every hard gate are weak{weak}, "
            f"{one.failed_and_good} that did not are good."
        )
        if one.judge is not None:
            lines.append(
                f"{one.criterion_id}, elsewhere, beside the judge's completion: alike in "
                f"{one.judge.alike} of {one.judge.n} attempts, {one.judge.complete_and_weak} "
                f"called complete and found weak, {one.judge.incomplete_and_good} the reverse, "
                f"{one.judge.unusable} unusable; no role is earned by it."
            )
    return lines


def _limit_lines(found: LabelFigures) -> list[str]:
    """Return the figures for the policy's limits on labels, with the judge's part separate."""
    lines = []
    if found.against is not None:
        wins, bad = found.wins_or_ties, found.both_bad
        lines.append(
            f"Pairs with {found.against}: {wins.hits} of {wins.n} won or tied, {bad.hits} both "
            f"bad, {wins.open} open."
        )
    judge = found.judge
    if judge is not None and judge.why is not None:
        lines.append(f"The judge does not stand in for people: {judge.why}.")
    elif judge is not None:
        known = judge.wins_or_ties
        lines.append(
            f"Apart from people, the judge on {plural(judge.pairs, 'pair')} that nobody labeled: "
            f"{known.hits} of {known.n} won or tied, {judge.flips} contradictory."
        )
    if found.unsigned:
        lines.append(f"{plural(found.unsigned, 'label')} not counted: nobody signed them.")
    if found.changed is not UNSET:
        lines.append(
            f"{plural(found.changed, 'signed label')} changed or taken back since by the rater, "
            "without a signature."
        )
    return lines


def _flagged(part: RandomPart) -> str:
    """Return a note on flagged items: they are labeled first, and are overrepresented as long as
    other items of the drawn part are not labeled."""
    waiting, most = part.waiting_traces, max((r.flagged for r in part.rates), default=0)
    told = "" if not waiting else f", {waiting} of {part.drawn_traces} traces drawn wait"
    if most and waiting != 0:
        told += f"; {most} carry a flag, and until none waits those weigh too much"
    return told


def review_rows(section: ReviewSection) -> list[list[str]]:
    """Return rates from labels, agreement and self-consistency, as rows of question, figure, value
    and 95 % limits."""
    rows = [
        [_asked(one), "random part, weighted", *_coefficient(one)]
        for one in section.random_part.rates
    ]
    for one in section.wins:
        about = f"against {', '.join(one.against) or 'others'}"
        for noun, test in (("pair", one.pairs), ("episode", one.by_episode)):
            rows.append([about, f"wins by {noun}", *_share(test.wins, None)])
            p = number(None) if test.p is None else f"p {number(test.p)}"
            why = f": {test.why}" if test.why else ""
            rows.append([about, f"sign test by {noun}, {test.ties} ties apart", p + why, "-"])
    for found in section.agreement or ():
        about = found.criterion_id or found.question
        rows.append([about, "raw agreement", *_share(found.raw, found.why)])
        rows.append([about, "Krippendorff alpha", *_coefficient(found.alpha)])
        rows.append([about, "Gwet AC1", *_coefficient(found.ac1)])
        if found.kappa.value is not None:
            rows.append([about, "Cohen kappa", *_coefficient(found.kappa)])
    for of in section.elsewhere.criteria if section.elsewhere is not UNSET else ():
        about, theirs = f"{of.criterion_id}, elsewhere", of.agreement
        rows.append([about, "raw agreement", *_share(theirs.raw, theirs.why)])
        rows.append([about, "Krippendorff alpha", *_coefficient(theirs.alpha)])
        rows.append([about, "Gwet AC1", *_coefficient(theirs.ac1)])
    for own in section.self_consistency or ():
        rows.append([own.reviewer, "agrees with the other order", *_share(own.same, None)])
        rows.append([own.reviewer, "picks the left slot", *_share(own.left, None)])
    return rows


def _asked(rate: RandomRate) -> str:
    said = {
        "passes": "messages with every mark on the good side",
        "preferred": "preferred in pairs",
    }
    return said.get(rate.question) or f"{rate.criterion_id} on the good side"


def _share(share: Share, why: str | None) -> list[str]:
    if share.value is None:
        return [f"{number(None)}{f': {why}' if why else ''}", "-"]
    return [f"{share.hits:g} of {share.n}", limits(share.low, share.high)]


def _coefficient(found: Estimate | RandomRate) -> list[str]:
    if found.value is None:
        return [f"{number(None)}{': ' + found.why if found.why else ''}", "-"]
    shown = limits(found.low, found.high)
    why = getattr(found, "why", None) if found.low is None else None
    return [number(found.value), why or shown]


def review_summary(section: ReviewSection) -> str:
    """Return labels in a few words."""
    text = f"{section.pairs_labelled} pairs labelled"
    winner = next((a for a in section.agreement or () if a.question == "winner"), None)
    if winner is not None and winner.raw.value is not None:
        text += f", agreement {winner.raw.hits:g} of {winner.raw.n}"
    flags = section.high_flags.open
    if flags:
        text += f", {flags} high flag{'' if flags == 1 else 's'} open"
    return text


def text_named(section: Mapping[str, Diagnostic]) -> bool:
    """Return whether an episode names a text, by the report's diagnostics."""
    scores = (one for one in section.values() if isinstance(one, TextDiagnostic))
    return any(one.why != NOTHING for one in scores)


def text_lines(section: Mapping[str, Diagnostic]) -> list[str]:
    """Return the sentences on a report's text scores."""
    if not text_named(section):
        return [f"Text scores: not measured: {NOTHING}."]
    lines = ["Text scores (text_…) compare words: diagnostic only, no gate reads them."]
    scores = (one for one in section.values() if isinstance(one, TextDiagnostic))
    phrases = [phrase for one in scores for phrase in one.phrases or ()]
    missed = [one for one in phrases if one.negated or one.absent]
    lines += [
        f"{one.episode_id}: “{one.phrase}” said in {one.found}, denied in "
        f"{one.negated}, absent from {one.absent} messages."
        for one in missed[:SHOWN_PHRASES]
    ]
    if len(missed) > SHOWN_PHRASES:
        lines.append(f"{len(missed) - SHOWN_PHRASES} more phrases are in report.json.")
    return lines


def review_section(report: Report) -> Section:
    judge, review = report.judge, report.review
    rows = review_rows(review)
    return Section(
        "Soft review",
        lines=[
            *judge_lines(judge),
            *review_lines(review),
        ],
        head=["question or person", "figure", "value", "95% limits"] if rows else [],
        rows=rows,
        terms=_review_terms(report),
    )


def diagnostics_section(report: Report) -> Section:
    found = report.diagnostics
    named = text_named(found)
    return Section(
        "Diagnostics, never gating",
        lines=text_lines(found),
        head=["diagnostic", "mean", "traces"],
        rows=[
            [name, _mean(value), str(value.n)]
            for name, value in found.items()
            if named or not isinstance(value, TextDiagnostic)
        ],
        terms=_diagnostic_terms(report),
    )


def _mean(value: Diagnostic) -> str:
    why = f": {value.why}" if isinstance(value, TextDiagnostic) and value.why else ""
    return f"{number(value.mean)}{why}"


def _review_terms(report: Report) -> Terms:
    """Explain the figures of people and of a judge."""
    review, judge = report.review, report.judge
    terms: Terms = []
    if isinstance(judge, AskedJudgeSection):
        terms.append(
            (
                "forward accuracy, both orders right, flip rate",
                f"Of the {plural(judge.pairs, 'labeled pair')} that the judge answered in both "
                "orders, the shares right as first shown, right both times, and answered "
                "differently when the sides were exchanged. It may score only when the limits of "
                "the policy are met, in strict mode by one-sided 95% bounds of the mean over "
                "episodes. No hard gate reads it.",
            )
        )
    if review.random_part.rates:
        terms.append(
            (
                "random part, weighted",
                "Settled items of the queue that were drawn by lot, each weighted by one over its "
                "chance of being drawn; limits are 95% with whole episodes as units.",
            )
        )
    if review.wins:
        terms.append(
            (
                "wins, sign test",
                "Settled pairs (or episodes) that this candidate won, of those with a winner; "
                "exact 95% Clopper-Pearson limits, and the exact two-sided binomial p against "
                "even, given from six decided on.",
            )
        )
    if review.agreement or review.elsewhere is not UNSET:
        terms.append(
            (
                "raw agreement, alpha, AC1, kappa",
                "Raw: pairs of answers to the same item that agree, of all such pairs, with exact "
                "limits. Krippendorff's alpha (limits by resampling), Gwet's AC1 and Cohen's kappa "
                "take off what chance would agree on; where one answer prevails, read AC1.",
            )
        )
    if review.self_consistency:
        terms.append(
            (
                "agrees with the other order, picks the left slot",
                "Of a person's pairs seen in both orders, how many got the same answer, and of the "
                "sides chosen how many were on the left; exact 95% Clopper-Pearson limits.",
            )
        )
    return terms


_DIAGNOSTICS = {
    "tool_precision": "of the calls made, the share that was expected (as multisets)",
    "tool_recall": "of the calls expected, the share that was made",
    "tool_f1": "the harmonic mean of the two",
    "order": "the longest common subsequence over the expected length",
    "efficiency": "the fewest steps that do it over the steps taken, of attempts that passed",
    "argument_accuracy": "of the expected arguments, the share that was given",
}


def _diagnostic_terms(report: Report) -> Terms:
    named = [f"{name}: {_DIAGNOSTICS[name]}" for name in report.diagnostics if name in _DIAGNOSTICS]
    if not named:
        return []
    return [
        (
            "mean",
            "The plain mean over the traces where the share is defined, with their number; "
            f"no limits, because nothing is decided by it. {'; '.join(named)}.",
        )
    ]
