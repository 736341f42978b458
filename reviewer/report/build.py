"""Build the release report from evidence: every section from its figures."""

import shlex
from collections import Counter

from msgspec import UNSET, structs

from reviewer.exit_codes import ExitCode
from reviewer.report.assess import Assessment, Reason, assess, assessed_in
from reviewer.report.caveats import not_measured, what_this_does_not_show
from reviewer.report.decision_set import MODES, decision_set
from reviewer.report.episodes import Episodes
from reviewer.report.evidence import Evidence, leaked_episodes
from reviewer.report.figures import Figures, Limits, entered, other_cost, red_team
from reviewer.report.formatting import NANO, stable_bits
from reviewer.report.gaps import frozen_before_first_run
from reviewer.report.lost import lost_attempts
from reviewer.report.model import (
    CandidateSection,
    CodeCount,
    CompletionSection,
    CostSection,
    CutRuns,
    DecisionSection,
    Diagnostic,
    EpisodeSection,
    Failure,
    FindingPlace,
    GateSection,
    ModeResult,
    PassHatSection,
    PeekingSection,
    RateAtEveryLook,
    ReasonSection,
    RepeatabilitySection,
    Report,
    Reproduce,
    SafetySection,
    SetRate,
    SlicesSection,
    SourceFile,
    SplitSection,
    SuiteSection,
    TextDiagnostic,
    UnknownCandidate,
)
from reviewer.report.opinions import (
    ADVISORY,
    MOST_CLAIMS,
    NO_LABELS,
    NOTHING,
    ROLE,
    JudgedMessages,
    JudgeEvidence,
    JudgeSection,
    ReviewSection,
    TextEvidence,
    TextScore,
    completion_judged,
    without_judge,
)
from reviewer.report.ran import ran_section
from reviewer.report.rates import CriticalFigures, Rate, exact_pass_hat, hard_pass, repeatable
from reviewer.report.slices import slices
from reviewer.report.source_headline import headlines
from reviewer.report.talks import person_episodes, talk_section
from reviewer.report.tolerated import let_pass
from reviewer.stats.bounds import bounds_at_every_look, episode_scores
from reviewer.stats.checks import Interval
from reviewer.stats.rates import pass_hat_k_intervals
from reviewer.suite.gates import COVERS
from reviewer.suite.model import LabelPolicy, Policy


def report(evidence: Evidence, assessment: Assessment | None = None) -> Report:
    """Return the report of this evidence; `assessment` avoids judging it twice."""
    judged = assess(evidence) if assessment is None else assessment
    shown, policy = judged.figures, evidence.suite.policy
    return Report(
        suite=_suite(evidence),
        candidate=_candidate(evidence),
        ran=ran_section(evidence.ran, evidence.made),
        recommendation=judged.recommendation,
        reasons=tuple(reason.text for reason in judged.reasons),
        reason_details=tuple(_reason(i, r) for i, r in enumerate(judged.reasons, start=1)),
        needs=judged.needs,
        decision_set=decision_section(evidence, judged),
        policy=policy,
        slots=shown.slots,
        gates=_gates(evidence, shown),
        hard_pass_rate=structs.replace(shown.hard_pass, policy=policy.hard_pass_rate),
        source_headline=headlines(evidence, shown.hard_pass),
        completion=CompletionSection(
            **structs.asdict(structs.replace(shown.completion, policy=policy.completion_min)),
            judged=completion_judged(evidence.judge),
        ),
        critical_failures=_critical(evidence, shown),
        safety_block_rate=_safety(evidence, shown),
        repeatability=_repeatability(evidence, shown),
        pass_hat={str(k): value for k, value in shown.pass_hat.values},
        pass_hat_interval=_pass_hat(evidence, shown),
        peeking=_peeking(evidence, shown),
        slices=_slices(evidence, shown),
        cost=_cost(evidence, shown),
        latency_ms=shown.latency,
        judge=_judge(evidence.judge, evidence.labeled, policy),
        review=_review(evidence.review, evidence.rubric_criteria, policy.labels),
        diagnostics=_diagnostics(evidence),
        failures=_failures(shown),
        tolerated=let_pass(evidence, shown) or UNSET,
        regression=judged.regression,
        break_glass=evidence.break_glass,
        journal_losses=evidence.journal_losses or UNSET,
        restored=evidence.restored or UNSET,
        import_maps=evidence.import_maps or UNSET,
        power=evidence.power or UNSET,
        split_integrity=SplitSection(
            leaked_episodes=tuple(leaked_episodes(evidence.split)), looks=evidence.split
        )
        if evidence.split
        else None,
        approvals=evidence.approvals or UNSET,
        records=evidence.records or UNSET,
        users=talk_section(evidence),
        by_person=person_episodes(evidence, shown) or UNSET,
        lost=lost_attempts(evidence, shown.slots.infrastructure),
        notes=evidence.notes,
        probes=evidence.probes,
        episodes=_episodes(shown),
        not_measured=tuple(not_measured(evidence, judged)),
        what_this_does_not_show=tuple(what_this_does_not_show(evidence, judged)),
        reproduce=_reproduce(evidence),
    )


def exit_code(found: Report) -> int:
    """Return 0 when the report recommends to promote, else 10."""
    promoted = found.recommendation == "promote"
    return ExitCode.DONE if promoted else ExitCode.NOT_PROMOTED


def _suite(evidence: Evidence) -> SuiteSection:
    suite = evidence.suite
    return SuiteSection(
        suite_id=suite.suite_id,
        title=suite.title,
        digest=suite.digest or None,
        probe=suite.probe,
        episodes=len(suite.episodes),
        frozen_at=evidence.frozen_at,
        frozen_before_first_run=frozen_before_first_run(evidence),
        lineage=evidence.lineage,
        source=suite.source,
        waivers=suite.waivers,
    )


def _candidate(evidence: Evidence) -> CandidateSection | UnknownCandidate:
    candidate = evidence.candidate
    if candidate is None:
        return UnknownCandidate(candidate_id=evidence.candidate_id)
    return CandidateSection(
        candidate_id=evidence.candidate_id,
        digest=candidate.digest or None,
        agent=candidate.agent,
        version=candidate.version,
        authors=candidate.authors,
        model=candidate.model,
        prompts=candidate.prompts,
        tools=candidate.tools,
        manifest=evidence.manifest,
    )


def _reason(number: int, reason: Reason) -> ReasonSection:
    return ReasonSection(
        number=number,
        text=reason.text,
        observed=reason.observed,
        policy=reason.policy,
        evidence=reason.evidence,
        evidence_count=reason.evidence_count,
        way_out=reason.way_out or None,
    )


def decision_section(evidence: Evidence, judged: Assessment) -> DecisionSection:
    """Return the gates of the decision set, and the recommendation of either mode for this
    evidence."""
    found = {mode: assessed_in(mode, evidence, judged) for mode in MODES}
    modes = {
        mode: ModeResult(
            recommendation=one.recommendation,
            reasons=tuple(reason.text for reason in one.reasons),
            needs=one.needs,
        )
        for mode, one in found.items()
    }
    return DecisionSection(
        mode=evidence.suite.policy.mode,
        stopping=evidence.suite.policy.stopping,
        gates=decision_set(evidence, judged),
        point=modes["point"],
        strict=modes["strict"],
    )


def _gates(evidence: Evidence, shown: Figures) -> dict[str, GateSection]:
    codes: dict[str, Counter[str]] = {g.gate: Counter() for g in shown.gates}
    for trace in evidence.failures:
        if not trace.infrastructure:
            for gate, code, _ in trace.evidence:
                codes.setdefault(gate, Counter())[code] += 1
    return {
        g.gate: GateSection(
            passes=g.passed,
            fail=g.failed,
            not_measured=g.not_measured,
            fail_counted=g.against,
            not_measured_counted=g.open,
            covers=COVERS[g.gate],
            findings=tuple(CodeCount(code=c, count=n) for c, n in sorted(codes[g.gate].items())),
        )
        for g in shown.gates
    }


def _critical(evidence: Evidence, shown: Figures) -> CriticalFigures:
    return structs.replace(
        shown.critical,
        policy=evidence.suite.policy.max_critical_failures,
        traces=tuple(t.trace_id for t in shown.failures if t.critical),
    )


def _safety(evidence: Evidence, shown: Figures) -> SafetySection:
    tagged, rate = red_team(evidence), shown.safety
    return SafetySection(
        value=rate.value,
        low=rate.low,
        high=rate.high,
        n=rate.n,
        blocked=rate.passes,
        not_blocked=rate.fails,
        not_measured=rate.not_measured,
        n_eff=rate.n_eff,
        episodes=tuple(filter(tagged.__contains__, shown.episodes.names)),
        why=rate.why,
        known=rate.known,
    )


def _repeatability(evidence: Evidence, shown: Figures) -> RepeatabilitySection:
    made = shown.episodes.tally(lambda e: e.attempts)
    return RepeatabilitySection(
        attempts_per_episode=evidence.plan,
        episodes=len(shown.episodes),
        attempts_made=shown.episodes.total(lambda e: e.attempts),
        attempts_counted=shown.counted.total(lambda e: e.attempts),
        attempts_measured=shown.episodes.total(lambda e: e.measured),
        least_attempts=min(made, default=0),
        most_attempts=max(made, default=0),
        k=evidence.suite.policy.pass_hat.k,
        formula="pass^k = mean over episodes of C(passes, k) / C(attempts, k)",
        pass_at=None,
        pass_at_why="shown only where a verifier picks among attempts",
    )


def _pass_hat(evidence: Evidence, shown: Figures) -> PassHatSection:
    hat = shown.pass_hat
    return PassHatSection(
        k=hat.k,
        value=hat.value,
        low=hat.low,
        high=hat.high,
        n_eff=hat.n_eff,
        lower_bound=hat.lower,
        upper_bound=hat.upper,
        limits_by_k=_limits_by_k(shown),
        episodes=len(shown.repeated),
        policy=evidence.suite.policy.pass_hat.min,
        why=hat.why or None,
        known=hat.known,
    )


def _limits_by_k(shown: Figures) -> dict[str, Limits]:
    """Return the 95% limits of every pass^k that is known."""
    hat, counts = shown.pass_hat, shown.repeated.tally(lambda e: (e.measured, e.passes))
    known = [k for k, value in hat.values if value is not None]
    found: dict[str, Limits] = {}
    for k, made in zip(known, pass_hat_k_intervals(counts, known), strict=True):
        if k == hat.k and hat.low is not None:
            found[str(k)] = (hat.low, hat.high)
        elif made is not None:
            found[str(k)] = (stable_bits(made.low), stable_bits(made.high))
    return found


def _peeking(evidence: Evidence, shown: Figures) -> PeekingSection:
    """Return how often the evidence could be looked at while it grew.

    A user who reruns until the result looks good has chosen when to stop: figures of all attempts
    are given next to those of the first complete set, with limits that hold at every look.
    """
    seen, every = evidence.peeking, shown.hard_pass
    if shown.counted is not shown.episodes:  # else both are of the same attempts
        every = hard_pass(shown.episodes)
    k = shown.pass_hat.k
    always = _at_every_look(every, shown.episodes)
    repeated = repeatable(evidence, shown.episodes)
    made = shown.episodes.total(lambda e: e.attempts)
    counted = shown.counted.total(lambda e: e.attempts)
    return PeekingSection(
        attempts_planned=shown.slots.planned,
        attempts_counted=counted,
        attempts_made=made,
        beyond_the_set=made - counted,
        first_set=_set_rate(shown.hard_pass, shown.pass_hat.value, k),
        all_attempts=RateAtEveryLook(
            **structs.asdict(_set_rate(every, _pass_hat_of(repeated, k), k)),
            low_at_every_look=None if always is None else stable_bits(always.low),
            high_at_every_look=None if always is None else stable_bits(always.high),
        ),
        arrivals=None if seen is None else seen.arrivals,
        earlier_decisions=None if seen is None else seen.earlier,
        candidates=None if seen is None else seen.candidates,
        cut=CutRuns(runs=seen.cut_runs, attempts=seen.cut_attempts)
        if seen is not None and seen.cut_runs
        else UNSET,
    )


def _set_rate(rate: Rate, pass_hat: float | None, k: int) -> SetRate:
    return SetRate(
        passes=rate.passes,
        n=rate.n,
        value=rate.value,
        low=rate.low,
        high=rate.high,
        k=k,
        pass_hat=pass_hat,
    )


def _pass_hat_of(rows: Episodes, k: int) -> float | None:
    if any(e.attempts > e.measured for e, _ in rows.alike):
        return None
    hat = exact_pass_hat(rows.tally(lambda e: (e.measured, e.passes)), k)
    return None if hat is None else float(hat)


def _at_every_look(rate: Rate, rows: Episodes) -> Interval | None:
    if rate.value is None:
        return None
    return bounds_at_every_look(episode_scores(rows.tally(lambda e: (e.attempts, e.passes))))


def _slices(evidence: Evidence, shown: Figures) -> SlicesSection:
    rows = slices(evidence, shown)
    return SlicesSection(
        family=len(rows),
        correction="limits Bonferroni, p Holm, which to look at Benjamini-Hochberg",
        rows=rows,
    )


def _cost(evidence: Evidence, shown: Figures) -> CostSection:
    cost, judge = shown.cost, evidence.judge
    others = {one.who: other_cost(one) for one in evidence.others}
    return CostSection(
        total_usd=cost.total_usd,
        known_usd=cost.known_usd,
        unknown_attempts=cost.unknown,
        cpst_usd=cost.cpst_usd,
        cpst_se=cost.cpst_se,
        cpst_low=cost.cpst_limits[0],
        cpst_high=cost.cpst_limits[1],
        cpst_low_possible=cost.possible[0],
        cpst_high_possible=cost.possible[1],
        cpst_budget_usd=evidence.suite.policy.max_cpst_usd,
        capped_usd=stable_bits(cost.most),
        extra_usd=_beyond_usd(shown),
        judge_usd=judge.cost_usd if judge else None,
        judge_known_usd=judge.known_usd if judge else None,
        judge_unpriced_calls=judge.unpriced if judge else 0,
        human_usd=entered(evidence.ledger, "human"),
        incident_usd=entered(evidence.ledger, "incident"),
        grader=others.get("grader", UNSET),
        simulated_user=others.get("simulated_user", UNSET),
        entries=evidence.ledger,
        why=cost.why or None,
    )


def _beyond_usd(shown: Figures) -> float | None:
    """Return the cost of the attempts beyond the first complete set; None when the cost of one is
    unknown."""
    if shown.counted is shown.episodes:
        return 0.0
    every, first = shown.episodes, shown.counted
    if every.total(lambda e: e.cost_unknown) - first.total(lambda e: e.cost_unknown):
        return None
    return (sum(every.costs) - sum(first.costs)) / NANO


def _judge(judge: JudgeEvidence | None, labeled: bool, policy: Policy) -> JudgeSection:
    """Return the judge's section; `labeled` says whether a judge could be measured."""
    least, most = policy.judge.min_accuracy, policy.judge.max_flip_rate
    if judge is None:
        return JudgeSection(
            role=ADVISORY, min_accuracy=least, max_flip_rate=most, why=without_judge(labeled)
        )
    forward = judge.section.estimates.forward_accuracy
    return structs.replace(
        judge.section,
        forward_accuracy=forward.value,
        flip_rate=judge.section.estimates.flip_rate.value,
        min_accuracy=least,
        max_flip_rate=most,
        pairs=forward.n,
        messages=tuple(map(_with_first_claims, judge.section.messages)),
    )


def _with_first_claims(one: JudgedMessages) -> JudgedMessages:
    shown = one.claims[:MOST_CLAIMS]
    return structs.replace(one, claims=shown, claims_left_out=len(one.claims) - len(shown))


def _review(
    review: ReviewSection | None, criteria: tuple[str, ...], policy: LabelPolicy
) -> ReviewSection:
    found = review or ReviewSection()
    return structs.replace(
        found,
        rubric=criteria,
        sample_rate=policy.sample_rate,
        pairs_required=policy.min_pairs,
        agreement=found.agreement or () if found.labels else None,
        self_consistency=found.self_consistency or () if found.labels else None,
        why=None if found.labels else NO_LABELS,
    )


def _diagnostics(evidence: Evidence) -> dict[str, Diagnostic]:
    means = evidence.diagnostics
    shares = {
        name: Diagnostic(mean=value, n=means.counts.get(name, 0))
        for name, value in means.values.items()
    }
    return {**shares, **_text_scores(evidence.text)}


def _text_scores(text: TextEvidence | None) -> dict[str, TextDiagnostic]:
    """Return the diagnostics that compare words."""
    nothing = TextScore(why=NOTHING)
    said = text or TextEvidence(exact=nothing, indel=nothing, token_f1=nothing, embedding=nothing)
    found = sum(one.found for one in said.phrases)
    made = found + sum(one.negated + one.absent for one in said.phrases)
    phrases = TextScore(mean=found / made, n=made) if made else TextScore(why=_no_phrase(text))
    return {
        "text_exact": _score(said.exact),
        "text_indel": _score(said.indel),
        "text_token_f1": _score(said.token_f1),
        "text_embedding": structs.replace(
            _score(said.embedding), model=said.model, model_sha256=said.model_sha256
        ),
        "text_phrases": structs.replace(_score(phrases), phrases=said.phrases),
    }


def _no_phrase(text: TextEvidence | None) -> str:
    if text is None:
        return NOTHING
    return "no message is known" if text.phrases else "no episode names a wanted phrase"


def _score(score: TextScore) -> TextDiagnostic:
    return TextDiagnostic(mean=score.mean, n=score.n, role=ROLE, why=score.why)


def _failures(shown: Figures) -> tuple[Failure, ...]:
    places: dict[int, tuple[FindingPlace, ...]] = {}
    for t in shown.failures:  # many share theirs
        if id(t.evidence) not in places:
            found = tuple(FindingPlace(gate=g, code=c, seq=seq) for g, c, seq in t.evidence)
            places[id(t.evidence)] = found
    return tuple(
        Failure(
            trace_id=t.trace_id,
            codes=t.codes,
            episode_id=t.episode_id,
            attempt=t.attempt,
            critical=t.critical,
            infrastructure=t.infrastructure,
            extra=t.extra,
            sha256=t.sha256,
            evidence=places[id(t.evidence)],
            moved_from=UNSET if t.moved_from is None else t.moved_from,
        )
        for t in shown.failures
    )


def _episodes(shown: Figures) -> tuple[EpisodeSection, ...]:
    return tuple(
        EpisodeSection(
            episode_id=e.episode_id,
            attempts=e.attempts,
            passes=e.passes,
            fail=e.measured - e.passes,
            not_measured=e.attempts - e.measured,
            critical=e.critical,
            infrastructure=e.infrastructure,
            quarantined=e.quarantined,
            cost_usd=None if e.cost_unknown else e.cost_nano / NANO,
            counted_attempts=e.counted.attempts,
            counted_pass=e.counted.passes,
            passed_attempts=e.passed,
            unmeasured_attempts=e.unmeasured,
        )
        for e in shown.episodes
    )


def _reproduce(evidence: Evidence) -> Reproduce:
    command = ["reviewer", "--export-report", "OUT", "--suite", evidence.suite.suite_id]
    command += ["--candidate", evidence.candidate_id]
    if evidence.baseline_id is not None and evidence.baseline_suite is None:
        command += ["--baseline", evidence.baseline_id]
    if evidence.text is not None and evidence.text.model is not None:
        command += ["--embedding-model", evidence.text.model]
    return Reproduce(
        commands=(shlex.join(command),),
        sources=tuple(
            SourceFile(path=path, sha256=digest) for path, digest in evidence.source_files
        ),
    )
