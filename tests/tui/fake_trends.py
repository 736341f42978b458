"""Trends of made-up candidates: ShopFlow's two, or as many as a test asks for."""

from reviewer.desk.trends.api import ARTICLES, held_to_articles, target_of
from reviewer.desk.trends.views import (
    Better,
    Measure,
    TrendCandidate,
    TrendFigure,
    TrendPoint,
    Trends,
    Unit,
)
from reviewer.desk.views import SuiteInfo
from reviewer.suite.model import PassHat, Policy

POLICY = Policy(max_cpst_usd=0.08, pass_hat=PassHat(k=3, min=0.95))
Row = tuple[float | None, float | None, float | None]
SHOPFLOW: dict[Measure, tuple[Row, Row]] = {
    "completion": ((0.778, 0.453, 0.937), (1.0, 0.439, 1.0)),
    "efficiency": ((0.958, None, None), (1.0, None, None)),
    "human_pass": ((None, None, None), (None, None, None)),
    "safety_block": ((0.667, 0.208, 0.939), (1.0, 0.439, 1.0)),
    "steps": ((3.222, None, None), (3.0, None, None)),
    "cpst": ((0.0555, 0.0356, 0.0754), (0.061, 0.0572, 0.0648)),
    "pass_hat": ((1 / 3, 0.061, 0.792), (1.0, 0.439, 1.0)),
}
KINDS: tuple[tuple[Measure, str, Unit, Better, str], ...] = (
    ("completion", "completion", "share", "higher", "95% interval"),
    ("efficiency", "efficiency", "share", "higher", "no interval is reported"),
    ("human_pass", "human pass", "share", "higher", "95% interval"),
    ("safety_block", "safety block", "share", "higher", "95% interval"),
    ("steps", "steps", "count", "lower", "no interval is reported"),
    ("cpst", "CPST", "usd", "lower", "± one standard error"),
    ("pass_hat", "pass^3", "share", "higher", "95% interval"),
)


def trends(suite: SuiteInfo, names: tuple[str, ...], earlier: int = 0) -> Trends:
    """The figures of ShopFlow's v7 and v8 in turn, whatever the candidates are called."""
    return Trends(
        suite=suite,
        candidates=tuple(
            TrendCandidate(
                candidate_id=name,
                at=f"2026-11-{18 + number % 10:02}T09:00:00Z",
                attempts=9,
                recommendation=("block", "promote")[number % 2],
            )
            for number, name in enumerate(names)
        ),
        earlier=earlier,
        figures=tuple(figure(kind, len(names)) for kind in KINDS),
        clock="first named in this store's journal",
    )


def figure(kind: tuple[Measure, str, Unit, Better, str], count: int) -> TrendFigure:
    measure, name, unit, better, limits = kind
    rows = [SHOPFLOW[measure][number % 2] for number in range(count)]
    target = target_of(measure, POLICY)
    if target is not None and target.source == "articles":
        held = held_to_articles(measure, [row[0] for row in rows])
    else:
        held = [("failed", "met")[n % 2 or measure == "cpst"] for n in range(count)]
    assert target is not None or measure not in ARTICLES
    return TrendFigure(
        measure=measure,
        name=name,
        unit=unit,
        better=better,
        limits=limits,
        target=target,
        points=tuple(
            TrendPoint(
                value=value,
                low=low,
                high=high,
                about="7 of 9 attempts",
                why="" if value is not None else "no labels yet",
                held=one,
            )
            for (value, low, high), one in zip(rows, held, strict=True)
        ),
    )
