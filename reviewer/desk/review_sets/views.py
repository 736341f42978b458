"""The arguments and results of this room: plain values. Names of tools and episodes are raw: the
code that displays them escapes them."""

from reviewer.desk.labels.api import LabelKind
from reviewer.desk.views import View


class SetOrder(View, frozen=True):
    """The set to make. `source` is a suite of the store, SUITE/CANDIDATE, or files. For files,
    `suite`, `candidates` and `format` are passed to the import; for a suite, `candidates` chooses
    among them. `high_cost` is the limit in USD, None for the rule's own. `about` is `user` for the
    users of conversations, "" for final messages."""

    source: str
    sample: str
    seed: int = 0
    strata: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    high_cost: float | None = None
    rubric: str = ""
    name: str = ""
    suite: str = ""
    candidates: tuple[str, ...] = ()
    pairs: bool = False
    baseline: str = ""
    format: str = "auto"
    about: str = ""


class SetMade(View, frozen=True):
    """The requested set. `added`: it did not exist before. `notes` report anything unusual in
    reading its source."""

    name: str
    added: bool
    notes: tuple[str, ...] = ()


class SetChoice(View, frozen=True):
    """A set that can be labeled; without a name, a candidate's own pairs or messages."""

    name: str
    kind: LabelKind
    about: str = ""


class SetLine(View, frozen=True):
    """One set in a list. `labeled` of its `items` have an answer."""

    name: str
    suite_id: str
    kind: LabelKind
    sample: str
    size: int
    items: int
    labeled: int
    at: str
    about: str = ""


class SetRate(View, frozen=True):
    """One question on one part of the population: `value` is the share of its `size` units whose
    answer is yes, from `hits` of `n` settled ones of the `drawn`. `open` more were labeled without
    a settled answer, or skipped: the limits hold whether those are all yes or all no. `dimension`
    and `stratum` are "" for the whole; without a value `why` says why it is not measured."""

    question: str
    dimension: str
    stratum: str
    size: int
    drawn: int
    n: int
    hits: int
    open: int
    value: float | None
    low: float | None
    high: float | None
    why: str = ""


class SetFlag(View, frozen=True):
    """One flag: its rule, the units it `picked`, those it could not decide on, and how many of the
    picked ones are settled; `answers` are (question, yes, settled)."""

    flag: str
    rule: str
    picked: int
    unknown: int
    labeled: int
    answers: tuple[tuple[str, int, int], ...]


class SetItem(View, frozen=True):
    """One item that has a label: its attempts, its flags, and the settled answers."""

    item: str
    episode_id: str
    traces: tuple[str, ...]
    flags: tuple[str, ...]
    random: bool
    answers: tuple[tuple[str, bool | None], ...]


class SetView(View, frozen=True):
    """A set and what people said of it. Of its `units`, `drawn` were drawn by lot and `picked` are
    there only because of a flag; they are shown as `items`, of which `labeled` have an answer,
    `skipped` only a reason for not giving one, and `open` ones are not settled. `gone` units ended
    with other words when they were last read, or are not in this store. `about` is `user` where the
    users of conversations are judged."""

    name: str
    uid: str
    at: str
    suite_id: str
    candidates: tuple[str, ...]
    baseline_id: str
    files: int
    kind: LabelKind
    sample: str
    seed: int
    strata: tuple[str, ...]
    size: int
    population: str
    left_out: dict[str, int]
    rubric: str
    units: int
    drawn: int
    picked: int
    gone: int
    items: int
    labeled: int
    skipped: int
    open: int
    reviewers: tuple[str, ...]
    rates: tuple[SetRate, ...]
    flags: tuple[SetFlag, ...]
    answered: tuple[SetItem, ...]
    about: str = ""
