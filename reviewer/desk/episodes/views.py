"""The answers of `desk.episodes` as plain values."""

from typing import Any, Literal

from msgspec import Struct

from reviewer.importing.recorded.marks import Marks

__all__ = ["TYPED", "EpisodeOrder", "MadeFromTrace", "Marks", "Proof", "ProofRun"]


class EpisodeOrder(Struct, frozen=True, kw_only=True):
    """A request to make an episode: from what, and where it is written.

    `source` and each of `beside` are traces: an id of the store, a file, `FILE#NAME`, or for
    `beside` a name in the file of the source. `into` is a draft that gets the episode, `out` the
    folder of a new suite; without either it is a new suite of the workspace. `replace` overwrites
    an episode of that name which was made from the same trace. `request` is what the user asked,
    whatever the trace says.
    """

    source: str
    trace: str = ""
    beside: tuple[str, ...] = ()
    marks: Marks = Marks()
    marks_file: str = ""
    tools: str = ""
    form: str = "auto"
    episode_id: str = ""
    into: str = ""
    out: str = ""
    replace: bool = False
    request: str = ""


TYPED = (
    ("request", "what the user asked: this trace does not say it"),
    ("wrong", "wrong calls: numbers of events, or tools; several with ;"),
    ("required", "tools a good attempt calls: get_order; or get_order:{...}"),
    ("say", "what should have been said in the end"),
    ("never say", "a wording that no good final message has"),
    ("with", "other traces of the task, for answers that this one lacks"),
    ("confirm", "turns, faults: these are as they should be"),
    ("id", "the episode's id; empty: of the trace"),
    ("into", "a suite that is not frozen; empty: a new one"),
)
"""The fields of a form for an episode: the name of each, and what goes into it."""


class MadeFromTrace(Struct, frozen=True, kw_only=True):
    """The episode that was written. `problems`, which include blanks, keep its suite from being
    frozen."""

    suite_id: str
    episode_id: str
    file: str
    script: str
    calls: int
    blanks: int
    gaps: tuple[dict[str, Any], ...]
    pooled: tuple[str, ...]
    volatile: tuple[str, ...]
    inferred: tuple[str, ...]
    masks: int
    notes: tuple[str, ...]
    problems: tuple[str, ...]


class ProofRun(Struct, frozen=True, kw_only=True):
    """One script of the proof, how often it was played, and its result."""

    plan: Literal["recorded", "corrected", "varied", "nothing"]
    wanted: Literal["fails", "passes"]
    runs: int
    holds: bool
    codes: tuple[str, ...]
    why: str


class Proof(Struct, frozen=True, kw_only=True):
    """The runs of an episode's scripts, and whether they prove it."""

    suite_id: str
    episode_id: str
    proven: bool
    runs: tuple[ProofRun, ...]


class MadeAndProven(Struct, frozen=True, kw_only=True):
    """An episode that was made from the content of a form, with its proof; `unproven` says why
    there is none."""

    made: MadeFromTrace
    proof: Proof | None
    unproven: str = ""


class MadeOfGolden(Struct, frozen=True, kw_only=True):
    """The episode that was made from a golden record."""

    suite_id: str
    episode_id: str
    file: str
    notes: tuple[str, ...]
    problems: tuple[str, ...]
