"""The report and the decision in lines."""

from collections.abc import Sequence

from reviewer.desk.decisions.api import Choice, DecisionView, Pending
from reviewer.desk.views import KeyInfo, Signed
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import STATES
from reviewer.tui.views.verdict import verdict_lines
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import Line, Span, middle, pad, spread
from reviewer.tui.widgets.wrap import Block

SENTENCES = {
    "PROMOTE": "may be released to {environment}.",
    "BLOCK": "must not be released to {environment}.",
    "REPAIR": "must be repaired and reviewed again.",
}


def top(found: DecisionView, width: int) -> list[Line]:
    """What is decided on, the verdict, and each reason with its evidence and its policy."""
    decided = f"signed {visible_line(found.decided)}" if found.decided else "undecided"
    if found.pending is not None:
        decided = f"waits: decision {found.pending.number}"
    left = [
        Span(middle(visible_line(found.candidate_id), width // 3), "strong"),
        Span(" on ", "dim"),
        Span(middle(visible_line(found.suite_id), width // 4)),
        Span("   report ", "dim"),
        Span(words.short(found.report_digest)),
    ]
    lines: list[Line] = [spread(left, [Span(decided, "strong" if found.decided else "dim")], width)]
    return lines + verdict_lines(found.candidate_id, found.recommendation, found.reasons, 3, width)


def sections(found: DecisionView) -> list[Block]:
    """Every section of the report: mark, name, text."""
    blocks = []
    for mark, name, text in found.sections:
        state = STATES.get(mark)
        glyph = Span(f" {state.glyph} ", mark) if state else Span(" · ", "dim")
        label = Span(pad(visible_line(name), 15) + " ", "strong")
        blocks.append(Block(text, "text", [glyph, label]))
    return blocks


def choice_line(choice: Choice, chosen: bool) -> list[Span]:
    """One decision: whether it is chosen, whether it is open, and why not."""
    mark = "(x)" if chosen else "( )"
    why = "open" if choice.open else "closed"
    if choice.why:
        why += f": {visible_line(choice.why)}"
    name = choice.decision if choice.adds is None else f"co-sign {choice.decision}"
    return [
        Span(f" {mark} ", "strong"),
        Span(pad(name, 16), "strong" if choice.open else "dim"),
        Span(why, "text" if choice.open else "dim"),
    ]


def key_line(key: KeyInfo) -> list[Span]:
    """One key: who it is, its fingerprint, where it lies."""
    name = key.principal or f"{key.comment} (not in store/signers)"
    where_ = "in ssh-agent" if key.where == "ssh-agent" else key.where
    return [
        Span(visible_line(name), "strong" if key.principal else "not_measured"),
        Span(f"  {middle(visible_line(key.fingerprint), 20)}", "dim"),
        Span(f"  {middle(visible_line(where_), 24)}"),
    ]


def signer_lines(found: DecisionView, keys: Sequence[KeyInfo] | None, width: int) -> list[Line]:
    """Who would sign, and what would be bound."""
    if keys is None:
        who: Line = [Span(" looking for keys…", "dim")]
    elif keys:
        who = [Span(" key ", "dim"), *key_line(keys[0])]
        if len(keys) > 1:
            who = [*who, Span(f"  1 of {len(keys)}", "dim")]
    else:
        who = [
            Span(" ○ no key", "not_measured"),
            Span(" in ssh-agent or ~/.ssh: reviewer keys says how to get one", "dim"),
        ]
    bound = [
        Span(" candidate ", "dim"),
        Span(words.short(found.candidate_digest)),
        Span("   suite ", "dim"),
        Span(words.short(found.suite_digest)),
        Span("   journal ", "dim"),
        Span(f"{words.short(found.journal_head)} at {found.journal_seq:,}"),
    ]
    exits = [Span(f"exit code {found.exit_code}", "dim")]
    wanted = [Span(f"PROMOTE takes {found.needed} people", "dim")] if found.needed > 1 else []
    return [spread(who, wanted, width), spread(bound, exits, width)]


def waiting_lines(pending: Pending) -> list[Line]:
    """What somebody else signed first, and said."""
    signed = f"{len(pending.signers)} of {pending.needed}"
    who = ", ".join(visible_line(name) for name in pending.signers) or "nobody that counts"
    lines: list[Line] = [
        [Span(f" {pad('signed', 10)}", "dim"), Span(f"{signed}: {who}", "strong")],
        [
            Span(f" {pad('made', 10)}", "dim"),
            Span(f"{visible_line(pending.created)}, until {visible_line(pending.expires)}"),
        ],
    ]
    said = visible_line(pending.comment)
    if said:
        lines.append([Span(f" {pad('comment', 10)}", "dim"), Span(middle(said, 56))])
    return lines


def signed_word(signed: Signed) -> Span:
    """What a signature came to, in a word and a sign."""
    if signed.verified:
        return Span("✓ verified", "pass")
    if signed.pending:
        return Span("○ waits for another approver", "not_measured")
    return Span("✗ not verified", "fail")
