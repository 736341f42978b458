"""What the desk answers about a model judge: its calibration, its price, its run."""

from typing import Literal

from reviewer.desk.labels.views import EstimateView, LabelKind
from reviewer.desk.views import View

JudgeRole = Literal["scoring", "advisory only"]
Outcome = Literal["agrees", "flips", "differs", "error"]
JudgeState = Literal["running", "stopping", "done", "stopped", "failed"]


class JudgePairRow(View, frozen=True):
    """One pair that people and the judge have answered: A, B, tie or both bad. `slot` says where a
    flip went."""

    item: str
    pair: int
    episode_id: str
    people: str
    forward: str
    swapped: str
    outcome: Outcome
    slot: str


class JudgeView(View, frozen=True):
    """What a judge has earned. `banner` says why it has its role, `needs` what is still missing;
    of each estimate one limit is set, the one-sided 95 % bound, and `policy` holds (estimate, its
    limit). `expired` is "" while the calibration holds. `confusion` is a table with its head;
    `win_rate` holds how often B's message is the better one, with the judge's mistakes taken out
    where that may be done; `messages` are lines about single messages.

    All figures are of the `labeled_pairs`. `rows` are those of them that the reviewer who looks has
    labeled himself; `others` are labeled by others alone, `begun` by him in one order so far, and
    `hidden` judged pairs are labeled by nobody.
    """

    suite_id: str
    judge_id: str
    model: str
    prompt_digest: str
    role: JudgeRole
    banner: str
    needs: str
    labeled_pairs: int
    estimates: tuple[EstimateView, ...]
    policy: tuple[tuple[str, float], ...]
    slots: str
    repeats: str
    errors: str
    a_name: str
    b_name: str
    rows: tuple[JudgePairRow, ...]
    others: int
    begun: int
    hidden: int
    confusion: tuple[tuple[str, ...], ...]
    cost_usd: float | None
    expired: str
    win_rate: tuple[EstimateView, ...] = ()
    messages: tuple[str, ...] = ()


class JudgeDetail(View, frozen=True):
    """The two messages of a pair as the forward order shows them, and what the judge said of them
    in either order, masked."""

    left: str
    right: str
    forward: str
    swapped: str


class JudgeOrder(View, frozen=True):
    """What to ask of which endpoint; no `kinds` are all that the judge is asked about.
    `api_key_env` is the name of a variable, never its value. Prices are US dollars per million
    tokens; without both no cost is known."""

    suite_id: str
    candidate_id: str
    baseline_id: str | None = None
    kinds: tuple[LabelKind, ...] = ("pair",)
    base_url: str = ""
    model: str = ""
    api_key_env: str = ""
    repeats: int = 1
    jobs: int = 4
    timeout_s: float = 120.0
    input_price: float | None = None
    output_price: float | None = None


class JudgePlan(View, frozen=True):
    """What an order would take, before anything is sent. `calls` are to be made, `cached` are
    answered already; `problem` is "" or why it cannot begin. `input_tokens` are counted by a rough
    rule, four bytes each; `cost_usd` is the most it can be by it, with every reply as long as
    judge.json lets it be."""

    calls: int
    cached: int
    input_tokens: int | None
    cost_usd: float | None
    model: str
    base_url: str
    problem: str


class JudgeRunView(View, frozen=True):
    """A judge at work: `done` of `calls` are kept, `errors` of them brought nothing usable, and of
    these `unanswered` are asked again by the next run; `cached` calls were never made.
    `cost_usd` and tokens are None as soon as those of one call are unknown; `unpriced` counts the
    calls without a price, and `known_usd` is the sum of the others."""

    suite_id: str
    candidate_id: str
    judge_id: str
    state: JudgeState
    calls: int
    done: int
    errors: int
    cost_usd: float | None
    seconds: float
    problem: str
    cached: int = 0
    unanswered: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    eta_seconds: float | None = None
    known_usd: float | None = None
    unpriced: int = 0
