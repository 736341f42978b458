"""The terminations of attempts: which are ordinary ends, and which are of the harness."""

GOOD_ENDS = frozenset(
    {
        "completed",
        "done",
        "success",
        "agent_stop",
        "user_stop",
        "stop",
        "finished",
        "end_turn",
        "transfer",
        "user_gave_up",
    }
)
"""Terminations that are an ordinary end. Any other stated reason fails the timeout gate."""

WORLD_GAP = "world_gap"
"""The termination of an attempt whose simulated world had no answer to a call."""

WORLD_BROKE = "world_broke"
"""The termination of an attempt whose world broke after the candidate had started."""

USER_ERROR = "user_error"
"""The termination of an attempt that its simulated user spoiled."""

INFRASTRUCTURE_ENDS = frozenset({"infrastructure_error", "infra_error"})
"""Terminations caused by the harness: the attempt neither passes nor fails."""

DISCARDING_ENDS = frozenset({WORLD_GAP, WORLD_BROKE, USER_ERROR})
"""Infrastructure terminations that count only for attempts of reviewer's own runner, which provides
the user and the world. In any other record they are a claim of its file, and the attempt ended
badly."""


def termination_of(raw: str | None) -> str:
    """Return the reason why an attempt ended, normalized (`Agent-Stop` is `agent_stop`); "" when
    not given."""
    if raw is None:
        return ""
    return "_".join(raw.casefold().replace("-", " ").replace("_", " ").split())
