"""What a person may do at a desk that serves several people: view, label, or decide.

A method without a row here is refused to everyone, so that a new method grants nothing by itself.
Where no role is given, the person is the user of this machine and account.
"""

from typing import Any, Literal, get_args

from msgspec.structs import replace

from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode

Role = Literal["view", "label", "decide"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Each role may do what the roles before it may."""

MAY = {
    "view": "view, not label",
    "label": "label, not decide",
    "decide": "decide, not change what is trusted on this machine",
}
"""What each role may do, and what it may not."""

ACTS: dict[Role, dict[str, str]] = {
    "view": {
        "compare": "attempts candidates episode kept worked_out",
        "decisions": "check name signed statement suite_standing view",
        "episodes": "asked",
        "imports": "handle refusals sources views",
        "judge": "pair plan view",
        "labels": "queue reviewer_name trace_of",
        "patterns": "found names",
        "power": "locked of",
        "presence": "all here leave",
        "reports": "build costs release shown",
        "review_sets": "choices sets view",
        "runs": "handle runnable views",
        "scorecards": "card card_here cell clock each_row episode_key filter_values "
        "gates groups kept maybe_red order rows saved_views shows_outcome side_totals sides totals",
        "traces": "all_notes event events find listed notes outline search state view",
        "trends": "figures kept worked_out",
        "trials": "attempt shown",
        "workspace": "all_candidates asked_for candidates contents contract_text "
        "found opening releases schema suites suites_met",
    },
    "label": {
        "labels": "evidence held next_item own_end record release session undo",
        "patterns": "name unname",
        "scorecards": "drop_view save_view",
        "traces": "write_note",
    },
    "decide": {
        "decisions": "export prepare prepare_added sign_prepared",
        "episodes": "from_form from_golden from_trace prove",
        "imports": "start",
        "judge": "export start take",
        "labels": "export",
        "reports": "enter_cost export export_release",
        "review_sets": "make",
        "runs": "start",
        "traces": "export_notes",
        "trials": "trial waive",
    },
}
"""The methods of each room, listed under the first role that may call them."""

_NEEDED: dict[tuple[str, str], Role] = {
    (room, method): role
    for role, rooms in ACTS.items()
    for room, methods in rooms.items()
    for method in methods.split()
}

ANSWERS: dict[tuple[str, str], Any] = {
    ("decisions", "keys"): [],
    ("decisions", "looked_in"): [],
    ("decisions", "throw_away"): False,
    ("imports", "session_tools"): (),
}
"""Answers that replace facts about the serving machine: the keys and coding sessions of its account
are shown to nobody else, and none of these keys signs for them."""


def known_role(text: str, place: str) -> Role:
    """Return the role of this name, given at `place`. Raises DeskError for any other."""
    for role in ROLES:
        if role == text:
            return role
    raise DeskError(
        f"{place}: no role {text!r}", f"one of {', '.join(ROLES)}", exit_code=ExitCode.USAGE
    )


def shaped(role: Role, room: str, method: str, answer: Any) -> Any:
    """Return an answer as a person of this role gets it: a decision that they may not sign cannot
    be chosen."""
    if (room, method) != ("decisions", "view") or role == "decide":
        return answer
    closed = [
        replace(choice, open=False, why=f"this session may {role}, not sign")
        for choice in answer.choices
    ]
    return replace(answer, choices=tuple(closed), preselected=None)


def require(role: Role, room: str, method: str) -> None:
    """Raise DeskError unless a person of this role may call this method."""
    needed = _NEEDED.get((room, method))
    if needed is None:
        raise DeskError(
            f"this session may {MAY[role]} ({room}.{method})",
            "on that machine: reviewer, in a terminal or over SSH, under an account of your own",
            exit_code=ExitCode.USAGE,
        )
    if ROLES.index(role) < ROLES.index(needed):
        raise DeskError(
            f"this session may {MAY[role]} ({room}.{method})",
            f"ask the person who serves this for an address with the role {needed}",
            exit_code=ExitCode.USAGE,
        )
