"""The source's own headline beside ours: by its rule, with partial rewards and lost attempts."""

from msgspec.structs import replace
from release_examples import episode, evidence, gates, plain, v8

from reviewer.report.build import report
from reviewer.report.evidence import Evidence, HarnessScores
from reviewer.report.model import report_bytes
from reviewer.report.page import page
from reviewer.report.render.text import summary_lines, summary_text
from reviewer.report.source_headline import HARNESSES, headline_text


def said(
    reader: str, attempts: int, passed: bool | None, reward: float | None, lost: bool = False
) -> HarnessScores:
    return HarnessScores(reader=reader, passed=passed, reward=reward, lost=lost, attempts=attempts)


def probe(*rows: HarnessScores, unknown: int = 0) -> Evidence:
    n = sum(row.attempts for row in rows if not row.lost)
    passes = sum(row.attempts for row in rows if row.passed and not row.lost)
    made = replace(episode("e", n, passes, n), measured=n - unknown, gate_unknown=gates())
    return replace(evidence("cand", (made,), latencies_ms=()), said=rows)


def test_nothing_is_said_where_no_harness_said_anything() -> None:
    found = report(v8())
    assert plain(found)["source_headline"] == []
    assert "itself" not in summary_text(found)


def test_partial_rewards_have_their_mean_and_null_counts_as_the_harness_counts_it() -> None:
    rows = (
        said("harbor", 24, True, 1.0),
        said("harbor", 13, None, 0.5),
        said("harbor", 70, False, 0.0),
        said("harbor", 1, None, None),
    )
    (found,) = report(probe(*rows, unknown=14)).source_headline
    assert found.value == round(30.5 / 108, 12)
    assert (found.n, found.rewards, found.partial_rewards) == (108, 107, 13)
    assert found.mean_reward == round(30.5 / 107, 12)
    assert (found.unscored, found.unscored_counted_as) == (1, "failed")
    assert found.ours.unknown == 14
    text = headline_text(found)
    assert text == (
        "Harbor itself: mean reward 0.282 over 108 attempts, 13 of 107 rewards partial, mean "
        "reward 0.285, 1 unscored counted as failed; here 24 to 38 of 108 pass, 0.222 to 0.352"
    )


def test_inspect_takes_the_mean_of_its_samples() -> None:
    rows = (
        HarnessScores(reader="inspect", passed=True, reward=1.0, lost=False, attempts=1, epochs=1),
        HarnessScores(reader="inspect", passed=True, reward=1.0, lost=False, attempts=1, epochs=3),
        HarnessScores(reader="inspect", passed=False, reward=0.0, lost=False, attempts=2, epochs=3),
    )
    (found,) = report(probe(*rows)).source_headline
    assert (found.value, found.n, found.mean_of) == (round(2 / 3, 12), 4, "episodes")
    assert "mean reward 0.667 over 4 attempts, averaged by episode" in headline_text(found)


def test_infrastructure_losses_count_as_the_harness_counts_them() -> None:
    rows = [("passed", True, 1.0, False), ("lost", False, 0.0, True)]
    both = {}
    for reader in ("tau2-bench", "terminal-bench"):
        made = [said(reader, 49 if w == "passed" else 1, p, r, lost) for w, p, r, lost in rows]
        (both[reader],) = report(probe(*made)).source_headline
    assert (both["tau2-bench"].value, both["tau2-bench"].n) == (1.0, 49)
    assert (both["terminal-bench"].value, both["terminal-bench"].n) == (0.98, 50)
    assert "1 infrastructure loss left out" in headline_text(both["tau2-bench"])
    assert "1 infrastructure loss counted as failed" in headline_text(both["terminal-bench"])


def test_a_harness_whose_rule_is_not_known_says_so() -> None:
    other = "webarena-verified"
    assert other not in HARNESSES
    rows = said(other, 3, True, None), said(other, 1, None, None), said(other, 1, False, None)
    (found,) = report(probe(*rows, unknown=1)).source_headline
    assert (found.value, found.n, found.rule_known) == (0.75, 4, False)
    assert "its rule for the others is not known here" in headline_text(found)


def test_every_rendering_has_it_and_the_bytes_are_the_same_each_time() -> None:
    subject = probe(said("tau-bench", 84, True, 1.0), said("tau-bench", 116, False, 0.0))
    found = report(subject)
    text = "tau-bench itself: mean reward 0.420 over 200 attempts; here 84 of 200 pass, 0.420"
    assert text in summary_text(found)
    assert text in {line.text for line in summary_lines(found)}
    assert any(f"{text}." in block.lines for block in page(found))
    again = replace(subject, said=tuple(reversed(subject.said)))
    assert report_bytes(report(again)) == report_bytes(found)


def test_it_gates_nothing() -> None:
    before = plain(report(v8()))
    after = plain(report(replace(v8(), said=(said("tau-bench", 9, False, 0.0),))))
    assert after["recommendation"] == before["recommendation"] == "promote"
    assert after["decision_set"] == before["decision_set"]
