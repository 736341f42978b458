"""The errors of simulated users, next to the candidate's figures: how many conversations had one by
rule, how many were spoiled by it, and whether the baseline's were spoiled as often. Also the
attempts whose user is a person, which are not repetitions."""

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from reviewer.report.evidence import Evidence
from reviewer.report.figures import Figures
from reviewer.report.formatting import limits, number, plural, stable_bits
from reviewer.report.limits import MOST_DISCARDED
from reviewer.report.model import (
    CodeCount,
    PersonEpisode,
    TalkSection,
    UserLabelSection,
    UserMissSection,
)
from reviewer.report.spoiled import baseline_talks, uneven_text
from reviewer.stats.figures import UserLabels
from reviewer.stats.rates import clopper_pearson

MOST_NAMED = 5
"""Attempts that a sentence names; the report's JSON has all."""


def talk_section(evidence: Evidence) -> TalkSection | UnsetType:
    """Return the report's member on simulated users, unset where no attempt was a conversation.
    The limits are of 95 %, over attempts."""
    talks, labels = evidence.talks, evidence.user_labels
    if talks is None and labels is None:
        return UNSET
    if talks is None:  # imported: no rule of ours checked these users
        return TalkSection(
            attempts=0, spoiled=0, with_errors=0, value=None, low=None, high=None, codes=(),
            comparable=True, labels=_labels(labels),
        )  # fmt: skip
    low, high = clopper_pearson(talks.faulty, talks.attempts)
    before = baseline_talks(evidence)
    return TalkSection(
        attempts=talks.attempts,
        spoiled=talks.spoiled,
        with_errors=talks.faulty,
        value=stable_bits(talks.faulty / talks.attempts),
        low=stable_bits(low),
        high=stable_bits(high),
        codes=tuple(CodeCount(code=code, count=count) for code, count in talks.codes),
        baseline=UNSET if before is None else before,
        comparable=talks.spoiled <= MOST_DISCARDED * talks.attempts
        and not (before and before.uneven),
        labels=_labels(labels),
    )


def _labels(labels: UserLabels | None) -> UserLabelSection | None:
    if labels is None:
        return None
    alike = labels.both + labels.neither
    looked = alike + len(labels.rules_only) + len(labels.labels_only)
    return UserLabelSection(
        review_set=labels.review_set,
        drawn=labels.drawn,
        labeled=labels.labeled,
        found=labels.found,
        value=stable_bits(labels.value),
        low=stable_bits(labels.low),
        high=stable_bits(labels.high),
        why=labels.why or None,
        both=labels.both,
        rules_only=tuple(UserMissSection(**asdict(one)) for one in labels.rules_only),
        labels_only=tuple(UserMissSection(**asdict(one)) for one in labels.labels_only),
        neither=labels.neither,
        agreement=stable_bits(alike / looked) if looked else None,
        unruled=labels.unruled,
    )


def talk_texts(talks: TalkSection | UnsetType) -> list[str]:
    """Return the same as sentences; none where no attempt was a conversation."""
    if talks is UNSET:
        return []
    if not talks.attempts:
        return ["user errors by rule: not measured; imported attempts", *_label_texts(talks.labels)]
    told = (
        f"user spoiled {talks.spoiled} of {plural(talks.attempts, 'conversation')}; errors by rule "
        f"in {talks.with_errors}: {number(talks.value)} {limits(talks.low, talks.high)}, a floor"
    )
    if talks.spoiled > MOST_DISCARDED * talks.attempts:
        told += "; more than a tenth is spoiled, so candidates do not compare on the rest"
    before = talks.baseline
    uneven = []
    if before is not UNSET and before.uneven:
        uneven = [uneven_text(talks.spoiled, talks.attempts, before)]
    return [told, *uneven, *_label_texts(talks.labels)]


def _label_texts(labels: UserLabelSection | None) -> list[str]:
    """Return what people said of the users, and which errors the rules did not find. The first
    clause of each sentence is short enough for the head of a scorecard."""
    if labels is None:
        return ["user errors by label: not measured; no review set is about these users"]
    if labels.value is None:
        told = f"user errors by label: not measured; {labels.why}, review set {labels.review_set}"
    else:
        told = (
            f"user errors by label in {labels.found} of {labels.labeled}; labels of "
            f"{plural(labels.labeled, 'attempt')} of the {labels.drawn} drawn by lot found "
            f"{labels.found}: {number(labels.value)} {limits(labels.low, labels.high)}, review set "
            f"{labels.review_set}"
        )
    alike, missed, alarms = labels.both + labels.neither, labels.labels_only, labels.rules_only
    looked = alike + len(missed) + len(alarms)
    if looked:
        told += (
            f"; rules and labels agree on {alike} of {plural(looked, 'labeled conversation')}: "
            f"false alarms {len(alarms)}, missed by rules {len(missed)}"
        )
    texts = [told]
    if missed:
        texts.append(
            f"rules missed {plural(len(missed), 'user error')}; by label: {_named(missed)}; "
            "verdicts stay: give the episode's user a rule for it and make the attempts again"
        )
    if alarms:
        texts.append(f"{plural(len(alarms), 'false alarm')} of user rules; {_named(alarms)}")
    return texts


def _named(attempts: tuple[UserMissSection, ...]) -> str:
    named = [f"{one.trace_id} ({', '.join(one.said)})" for one in attempts[:MOST_NAMED]]
    more = len(attempts) - MOST_NAMED
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def person_episodes(evidence: Evidence, shown: Figures) -> tuple[PersonEpisode, ...]:
    """Return the episodes whose user a person plays, in suite order."""
    return tuple(
        PersonEpisode(
            episode_id=e.episode_id,
            attempts=e.attempts,
            passes=e.passes,
            fails=e.measured - e.passes,
            not_measured=e.attempts - e.measured,
        )
        for e in shown.episodes.chosen(evidence.by_person.__contains__)
    )


def person_texts(episodes: tuple[PersonEpisode, ...] | UnsetType, k: int) -> list[str]:
    """Return the same as a sentence; none where there is no such episode."""
    if not episodes:
        return []
    told = (f"{one.episode_id} {_passed(one)}" for one in episodes)
    return [f"user played by a person, not repeatable and not in pass^{k}: {', '.join(told)}"]


def _passed(one: PersonEpisode) -> str:
    left = f", {one.not_measured} not measured" if one.not_measured else ""
    return f"{one.passes} of {plural(one.attempts, 'attempt')} passed{left}"
