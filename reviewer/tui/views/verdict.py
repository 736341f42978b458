"""The verdict in lines: the recommendation, and each reason for it."""

from collections.abc import Sequence

from rich.cells import cell_len

from reviewer.desk.views import Evidence, Reason, Recommendation
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import STATES, VERDICTS, cell_style
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import Line, Span, cut, middle, pad, spread


def where(evidence: Evidence) -> str:
    """Return the place of a piece of evidence: `attack-014 attempt 1 event 2`."""
    event = "" if evidence.seq is None else f" event {evidence.seq}"
    return visible_line(f"{evidence.episode_id} attempt {evidence.attempt}{event}")


def brief(evidence: Evidence) -> str:
    """Return the place of a piece of evidence in short: `attack-014/1 event 2`."""
    event = "" if evidence.seq is None else f" event {evidence.seq}"
    return visible_line(f"{evidence.episode_id}/{evidence.attempt}{event}")


def verdict_lines(
    candidate_id: str,
    recommendation: Recommendation,
    reasons: Sequence[Reason],
    room: int,
    width: int,
) -> list[Line]:
    """Return the verdict in a sentence, then one line for each of the first `room` reasons."""
    state = VERDICTS[recommendation]
    count = words.plural(len(reasons), "reason")
    says = {
        "promote": "nothing speaks against promoting it",
        "block": f"may not be promoted: {count}",
        "repair": f"may not be promoted: {count}",
        "hold": f"cannot be decided yet: {count}",
    }[recommendation]
    verdict = Span(f"{STATES[state].glyph} {recommendation.upper()}", cell_style(state))
    name = middle(visible_line(candidate_id), 40)
    lines: list[Line] = [[verdict, Span(f"  {name} {says}")]]
    lines += [reason_line(reason, width) for reason in reasons[:room]]
    if len(reasons) > room:
        more = f"   +{len(reasons) - room} more: their numbers go to their evidence"
        lines.append([Span(more, "dim")])
    return lines


def reason_line(reason: Reason, width: int) -> list[Span]:
    """Return one reason: its number, its words, the observation, its place, and the policy. Long
    words take the room that the other parts leave, because a way out may be at their end."""
    action = f"screen.numbered({reason.number})"
    text, observed = visible_line(reason.text), visible_line(reason.observed)
    policy = visible_line(reason.policy)
    policy = policy if policy.startswith("policy") or not policy else f"policy {policy}"
    number = f" {reason.number} "
    left_over = width - sum(map(cell_len, (number, observed, policy))) - 3
    room = max(34 if width < 120 else 48, min(cell_len(text), left_over))
    left = [
        Span(number, "key", action),
        Span(pad(cut(text, room), room) + " ", "text", action),
        Span(observed, "strong", action),
    ]
    if reason.evidence:
        first = reason.evidence[0]
        tool = visible_line(first.tool or first.code)
        short = brief(first)
        wide = [f"   {where(first)} {tool}"] if width >= 120 else []
        for shown in (*wide, f"  {short} {tool}", f"  {short}", f"  {short.partition(' ')[0]}"):
            if room + cell_len(shown) <= left_over:
                left.append(Span(shown, "text", action))
                break
    return spread(left, [Span(f" {policy}", "dim")], width)
