"""What making an episode and proving it give, as plain values."""

from typing import Any, Literal

from msgspec import Struct

from reviewer.importing.recorded.marks import Marks

__all__ = ["EpisodeOrder", "MadeFromTrace", "Marks", "Proof", "ProofRun"]


class EpisodeOrder(Struct, frozen=True, kw_only=True):
    """What an episode is to be made of, and where it goes.

    `source` and each of `beside` are traces: an id of the store, a file, `FILE#NAME`, or for
    `beside` a name in the file of the source. `into` is an unfrozen suite that gets the episode,
    `out` the folder of a new one; without either it is a new suite of the workspace.
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


class MadeFromTrace(Struct, frozen=True, kw_only=True):
    """The episode that was written. `problems` are what keeps its suite from being frozen, blanks
    among them."""

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
    """One script of the proof, how often it was played, and what came of it."""

    plan: Literal["recorded", "corrected", "varied", "nothing"]
    wanted: Literal["fails", "passes"]
    runs: int
    holds: bool
    codes: tuple[str, ...]
    why: str


class Proof(Struct, frozen=True, kw_only=True):
    suite_id: str
    episode_id: str
    proven: bool
    runs: tuple[ProofRun, ...]
