"""The ready views over the tables of an archive: the figures of a report, in SQL.

docs/parquet.md lists them. `origin` says which archive or store a row comes from. Every view counts
each origin separately, so that an attempt that is in two of them is never counted twice.
"""

from typing import NamedTuple

from reviewer.db.archive.tables import GATE_PREFIX
from reviewer.suite.gates import GATES

MACROS = (
    # The number of ways to choose k of n: exact, computed step by step.
    "CREATE MACRO choose(n, k) AS CASE WHEN k > n THEN 0::HUGEINT ELSE"
    " list_reduce(range(1, k + 1), lambda a, i: (a * (n - k + i) // i)::HUGEINT, 1::HUGEINT) END",
    # The share of the choices of k of n that lie entirely within c, as a double; n may be of any
    # size.
    "CREATE MACRO share(n, c, k) AS"
    " list_reduce(range(0, k), lambda a, i: a * greatest(c - i, 0) / (n - i), 1::DOUBLE)",
)


class View(NamedTuple):
    """A view: the question it answers, its SQL, and the tables that it needs."""

    name: str
    text: str
    sql: str
    needs: tuple[str, ...] = ("facts",)


_WHO = "origin, suite_id, candidate_id"


def _by_gate(keys: str) -> str:
    """Return SQL that counts the results of each gate in force, grouped by these keys, in one pass
    over the facts."""
    words = {"passed": "'pass'", "failed": "'fail', 'critical'", "not_measured": "'not_measured'"}
    counts = ", ".join(
        f"count(*) FILTER ({GATE_PREFIX}{gate} IN ({held})) AS {word}_{gate}"
        for gate in GATES
        for word, held in words.items()
    )
    rows = " UNION ALL ".join(
        f"SELECT {keys}, '{gate}' AS gate, passed_{gate} AS passed, failed_{gate} AS failed,"
        f" not_measured_{gate} AS not_measured, {place} AS place FROM counted"
        f" WHERE passed_{gate} + failed_{gate} + not_measured_{gate} > 0"
        for place, gate in enumerate(GATES)
    )
    return (
        f"WITH counted AS MATERIALIZED (SELECT {keys}, {counts} FROM attempts WHERE NOT lost"
        f" GROUP BY ALL) SELECT * EXCLUDE place FROM ({rows}) ORDER BY {keys}, place"
    )


# Attempts and passes of each episode's first complete set, also of an episode without an attempt.
_EPISODES = f"""
WITH made AS (
  SELECT {_WHO}, episode_id,
    count(*) FILTER (counted AND NOT lost) AS attempts,
    count(*) FILTER (counted AND NOT lost AND passed IS NOT NULL) AS measured,
    count(*) FILTER (counted AND passed) AS passes,
    count(*) FILTER (NOT lost AND critical) AS critical,
    coalesce(sum(cost_nano) FILTER (counted), 0) AS cost_nano,
    count(*) FILTER (counted AND cost_nano IS NULL) AS cost_unknown
  FROM facts GROUP BY ALL)
SELECT c.origin, c.suite_id, c.candidate_id, e.episode_id, e.position, e.by_person,
  coalesce(m.attempts, 0) AS attempts, coalesce(m.measured, 0) AS measured,
  coalesce(m.passes, 0) AS passes, coalesce(m.critical, 0) AS critical,
  coalesce(m.cost_nano, 0) AS cost_nano, coalesce(m.cost_unknown, 0) AS cost_unknown
FROM candidates c JOIN episodes e USING (origin, suite_id)
LEFT JOIN made m USING (origin, suite_id, candidate_id, episode_id)
"""

# C(passes, k) / C(measured, k), summed over a common denominator, so that the mean is exact
# wherever the numbers fit; where they do not fit, summed as doubles.
_PASS_K = f"""
WITH seen AS (
  SELECT e.*, s.pass_k, s.probe,
    min(e.measured) OVER (PARTITION BY e.origin, e.suite_id, e.candidate_id) AS least
  FROM candidate_episodes e JOIN suites s USING (origin, suite_id) WHERE NOT e.by_person),
ks AS (
  SELECT *, unnest(range(1, shown + 1)) AS k FROM (
    SELECT *, CASE WHEN probe THEN least(greatest(least, 1), 10) WHEN pass_k > 10 THEN pass_k
      ELSE least(greatest(least, pass_k), 10) END AS shown FROM seen)),
alike AS (
  SELECT {_WHO}, k, least(pass_k, shown) AS pass_k, measured, passes, count(*) AS episodes,
    sum(attempts - measured) AS open, share(measured, passes, k) AS share,
    TRY(choose(passes, k)) AS good, TRY(choose(measured, k)) AS every
  FROM ks GROUP BY ALL),
parts AS (SELECT {_WHO}, k, list(DISTINCT every) FILTER (measured >= k) AS parts
  FROM alike GROUP BY ALL),
common AS (
  SELECT * EXCLUDE parts, TRY(list_reduce(parts,
    lambda a, b: (a // greatest(gcd(a, b), 1) * b)::HUGEINT, 1::HUGEINT)) AS whole FROM parts),
terms AS (
  SELECT a.*, whole, TRY(episodes * good * (whole // every)) AS term, TRY(whole * episodes) AS part
  FROM alike a JOIN common c USING (origin, suite_id, candidate_id, k)),
summed AS (
  SELECT {_WHO}, k, pass_k, min(measured) AS least, sum(open) AS open, sum(episodes) AS episodes,
    sum(episodes * share) / sum(episodes) AS nearly,
    CASE WHEN count(*) = count(term) AND count(*) = count(part)
      AND max(greatest(term, part)) < 1e33 THEN [
        sum(CASE WHEN term < 1e33 THEN term END), sum(CASE WHEN part < 1e33 THEN part END)]
      END AS exact
  FROM terms GROUP BY ALL)
SELECT {_WHO}, k, k = pass_k AS of_policy, episodes,
  CASE WHEN open = 0 AND least >= k THEN coalesce(
    (exact[1] // gcd(exact[1], exact[2]))::DOUBLE / (exact[2] // gcd(exact[1], exact[2]))::DOUBLE,
    nearly) END AS value,
  open AS verdicts_not_measured
FROM summed ORDER BY ALL
"""

VIEWS = (
    View(
        "attempts",
        "the facts, with the `day` on which an attempt began",
        "SELECT *, CAST(started_at AS DATE) AS day FROM facts",
    ),
    View(
        "candidate_episodes",
        "candidates × episodes: attempts, those with a verdict, passes and cost of the first "
        "complete set; critical failures of all",
        _EPISODES,
        ("facts", "candidates", "episodes"),
    ),
    View(
        "verdicts",
        "candidates: attempts made and those that infrastructure lost; of the others how many "
        "pass, fail, are critical, are not measured; and the hard pass rate of the first "
        "complete set",
        f"SELECT {_WHO}, count(*) AS made, count(*) FILTER (lost) AS lost,"
        " count(*) FILTER (NOT lost AND passed) AS passed,"
        " count(*) FILTER (NOT lost AND NOT passed) AS failed,"
        " count(*) FILTER (NOT lost AND critical) AS critical,"
        " count(*) FILTER (NOT lost AND passed IS NULL) AS not_measured,"
        " CASE WHEN count(*) FILTER (counted AND NOT lost AND passed IS NULL) = 0 THEN"
        " count(*) FILTER (counted AND passed) / nullif(count(*) FILTER (counted AND NOT lost), 0)"
        " END AS hard_pass_rate FROM facts GROUP BY ALL ORDER BY ALL",
    ),
    View(
        "gates",
        "candidates × gates in force: how many attempts pass, fail, are not measured; as in "
        "report.json",
        _by_gate(_WHO),
    ),
    View(
        "gates_per_day",
        "the same by day; attempts whose time is not known are under null",
        _by_gate(f"{_WHO}, day"),
    ),
    View(
        "pass_k",
        "candidates × k: pass^k up to the policy's k (`of_policy`) and what the attempts allow, at "
        "most 10; null where an episode has fewer attempts or a verdict is not measured",
        _PASS_K,
        ("facts", "candidates", "episodes", "suites"),
    ),
    View(
        "costs",
        "candidates: the cost of the first complete set, those lost to infrastructure too, and the "
        "cost per success; null where a cost or a verdict is not known",
        f"SELECT {_WHO}, count(*) AS attempts, count(*) FILTER (cost_nano IS NULL) AS cost_unknown,"
        " sum(cost_nano)::DOUBLE / 1e9 AS known_usd,"
        " CASE WHEN count(*) FILTER (cost_nano IS NULL) = 0 THEN sum(cost_nano)::DOUBLE / 1e9 END"
        " AS total_usd, count(*) FILTER (passed) AS successes,"
        " CASE WHEN count(*) FILTER (cost_nano IS NULL OR NOT lost AND passed IS NULL) = 0 THEN"
        " sum(cost_nano)::DOUBLE / nullif(count(*) FILTER (passed) * 1000000000, 0)::DOUBLE END"
        " AS cost_per_success_usd FROM facts WHERE counted GROUP BY ALL ORDER BY ALL",
    ),
    View(
        "latencies",
        "candidates: quantiles of the latencies that are known, of the first complete set, in ms",
        f"SELECT {_WHO}, count(latency_ms) AS measured, count(*) - count(latency_ms) AS unknown,"
        " quantile_cont(latency_ms, 0.5) AS p50, quantile_cont(latency_ms, 0.95) AS p95,"
        " max(latency_ms) AS max FROM facts WHERE counted AND NOT lost GROUP BY ALL ORDER BY ALL",
    ),
    View(
        "codes",
        "candidates × gates × codes: how many attempts have a finding, and of what severity",
        f"SELECT {_WHO}, gate, code, severity, count(DISTINCT trace_id) AS attempts FROM findings"
        f" GROUP BY ALL ORDER BY attempts DESC, {_WHO}, gate, code",
        ("findings",),
    ),
    View(
        "tools",
        "candidates × tools: calls, those that failed, and the median latency",
        f"SELECT {_WHO}, tool, count(*) AS calls,"
        " count(*) FILTER (status IN ('error', 'timeout', 'denied')) AS failed,"
        " quantile_cont(latency_ms, 0.5) AS p50_ms FROM events WHERE kind = 'tool_call'"
        f" GROUP BY ALL ORDER BY calls DESC, {_WHO}, tool",
        ("events",),
    ),
)
"""The ready views, each after the views that it is made of."""
