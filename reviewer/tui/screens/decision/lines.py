"""The lines of the decision screen and its dialogs, as functions of what the desk answered."""

import textwrap
from collections import Counter
from collections.abc import Collection, Sequence

from reviewer.desk.decisions.api import (
    CheckedDecision,
    Choice,
    DecisionView,
    EarlierDecision,
    Pending,
    SuiteStanding,
)
from reviewer.desk.errors import DeskError
from reviewer.desk.views import KeyInfo, SignedDecision
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import STATES, cell_style
from reviewer.tui.views.verdict import verdict_lines, where
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import Block, Line, Span, middle, pad, spread, width_of

SENTENCES = {
    "PROMOTE": "may be released to {environment}.",
    "BLOCK": "must not be released to {environment}.",
    "REPAIR": "must be repaired and reviewed again.",
}


def top(found: DecisionView, width: int) -> list[Line]:
    """Return the subject of the decision, the verdict, and each reason with its evidence and
    policy."""
    decided = f"signed {visible_line(found.decided)}" if found.decided else "undecided"
    if (last := standing(found)) is not None:
        decided = f"decision {last.number} stands"
    elif (over := expired(found)) is not None:
        decided = f"decision {over.number} expired"
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


def sections(
    found: DecisionView, standing_: SuiteStanding | None, *, beside: bool, roomy: bool
) -> list[Block]:
    """Return the report in blocks, the deciding ones first: with room every reason with its events,
    the gates, the bounds, the standing of the suite unless it is shown `beside`, then the other
    sections."""
    blocks = [_block(*line) for line in found.sections if line[1] == FIRST]
    blocks += _reasons(found) if roomy else []
    blocks += _headed("gates: attempts that pass and fail, first failing event", roomy)
    blocks += _gates(found, every=roomy)
    if found.bounds:
        blocks += _headed("bounds: what can be claimed of the candidate with 95% confidence", roomy)
    blocks += [_block(*row) for row in found.bounds]
    if standing_ is not None and not beside:
        blocks += [_block(*line) for line in (*standing_.trial, *standing_.power)]
    blocks += _headed("the rest of the report", roomy)
    told = {"hard gates": found.gates, "on bounds": found.bounds, FIRST: True}
    blocks += [_block(*line) for line in found.sections if not told.get(line[1])]
    return blocks


def _block(mark: str, name: str, text: str, width: int = 18) -> Block:
    state = STATES.get(mark)
    glyph = [Span(" "), Span(state.glyph, cell_style(mark)), Span(" ")] if state else []
    label = Span(pad(visible_line(name), width) + " ", "strong")
    return Block(visible_line(text), "text", [*(glyph or [Span(" · ", "dim")]), label])


def _headed(words_: str, roomy: bool) -> list[Block]:
    return [Block(""), Block(words_, "dim", [Span(" ")])] if roomy else []


def _reasons(found: DecisionView) -> list[Block]:
    blocks = []
    for reason in found.reasons:
        head = [Span(f" {reason.number} ", "key"), Span(f"{visible_line(reason.text)}  ", "strong")]
        blocks.append(Block(visible_line(reason.observed), "text", head))
        for one in reason.evidence[:MOST_EVENTS]:
            tool = f" {visible_line(one.tool)}" if one.tool else ""
            text = f"{where(one)}{tool}  {visible_line(one.gate)} {visible_line(one.code)}"
            blocks.append(Block(text, "text", [Span("     ")]))
    return blocks


def _gates(found: DecisionView, *, every: bool) -> list[Block]:
    blocks = []
    for row in found.gates:
        if every:
            text = f"{row.passed:,} pass, {row.failed:,} FAIL"
            text += f", {row.not_measured:,} not measured" if row.not_measured else ""
            text += f"   {row.first}" if row.first else ""
            blocks.append(_block(row.mark, row.gate, text))
        elif row.mark != "pass":
            unknown = f", {row.not_measured:,} not measured" if row.not_measured else ""
            fails = "fails " if row.failed else ""
            text = f"{fails}{row.failed:,} of {row.attempts:,}{unknown}  {row.first}"
            blocks.append(_block(row.mark, row.gate, text, width=12))
    holding = [row.gate for row in found.gates if row.mark == "pass"]
    if holding and not every:
        many = f"{words.plural(len(holding), 'gate')} hold"
        blocks.append(_block("pass", many, ", ".join(holding), width=12))
    return blocks


FIRST = "break-glass"
"""The section that comes before all others: a release that bypassed the report."""
MOST_EVENTS = 3
"""Events that are named after a reason."""


def beside_blocks(
    found: DecisionView, standing_: SuiteStanding | None, mine: Collection[str]
) -> list[Block]:
    """Return the part next to the report: the suite's trial, its policy's power, and every earlier
    decision with who signed it, when, until when, its state and its comment."""
    blocks = [Block("suite trial: what bad agents do on this suite", "dim", [Span(" ")])]
    if standing_ is None:
        blocks.append(Block("being tried now", "dim", [Span(" ► ", "running")]))
    else:
        blocks += [_block(*line, width=12) for line in standing_.trial]
        blocks += [Block(""), Block("power: how often this policy is wrong", "dim", [Span(" ")])]
        blocks += [_block(*line, width=12) for line in standing_.power]
    blocks += [Block(""), Block("earlier decisions, newest first", "dim", [Span(" ")])]
    for one in reversed(found.earlier):
        mark = {"stands": "pass"}.get(one.state, "not_measured") if one.sound else "fail"
        name = "break-glass" if one.number is None else f"{one.number} {one.word}"
        who = ", ".join(one.signers)
        yours = ", you signed this" if set(one.signers).intersection(mine) else ""
        when = f"{one.created[:16].replace('T', ' ')}Z until {one.expires[:10] or '?'}"
        said = f": {one.comment}" if one.comment else ""
        blocks.append(_block(mark, name, f"{one.state}; {who}{yours}, {when}{said}", width=12))
    if not found.earlier:
        blocks.append(Block("none: nothing was signed on this candidate yet", "text", [Span(" ")]))
    return blocks


def standing(found: DecisionView) -> EarlierDecision | None:
    """Return the decision that is in force for the environment of the report."""
    stands = [one for one in found.earlier if one.state == "stands"]
    return next((one for one in stands if one.environment == found.environment), None)


def expired(found: DecisionView) -> EarlierDecision | None:
    """Return the newest decision for the environment of the report, if it has expired."""
    last = [one for one in found.earlier if one.environment == found.environment and one.sound]
    return last[-1] if last and last[-1].state == "expired" else None


def choice_line(choice: Choice, chosen: bool, before: EarlierDecision | None = None) -> list[Span]:
    """Return one decision: whether it is chosen, whether it can be signed, and why not. `before` is
    the reader's own earlier signature of the same decision on this report."""
    mark = "(x)" if chosen and choice.open else "( )"
    why = "can be signed" if choice.open else "not possible"
    if choice.adds is not None and choice.open:
        why = visible_line(choice.why)
    elif choice.why:
        why += f": {visible_line(choice.why)}"
    elif before is not None and choice.open:
        why += f"; you signed {before.word} on this report at {before.created[11:16]}Z"
    name = choice.decision if choice.adds is None else f"co-sign {choice.decision}"
    return [
        Span(f" {mark} ", "strong"),
        Span(pad(name, 16), "strong" if choice.open else "dim"),
        Span(why, "text" if choice.open else "dim"),
    ]


def earlier_line(one: EarlierDecision, mine: Collection[str], width: int) -> list[Span]:
    """Return one earlier decision: number, decision, who, when, until, state, comment."""
    wide = width >= 110
    until = one.expires[:10] if wide else one.expires[5:10]
    who = visible_line(", ".join(one.signers))
    style = {"stands": "pass", "break-glass": "fail-cell"}.get(one.state, "not_measured")
    state = Span(one.state, style) if one.sound else Span(f"✗ {one.state}", "fail-cell")
    yours = set(one.signers).intersection(mine)
    line = [
        Span(f"{'' if one.number is None else one.number:>4}  ", "dim"),
        Span(pad(visible_line(one.word), 12 if wide else 8), "strong"),
        Span(pad(middle(who, 24 if wide else 13), 26 if wide else 14)),
        Span(f"{one.created[0 if wide else 5 : 16].replace('T', ' ')}Z  ", "dim"),
        Span(f"until {until or '?'}  ", "dim"),
        state,
    ]
    if yours:
        line.append(Span("  ✓ you signed" if wide else " ✓ yours", "dim"))
    if one.comment and wide:
        line.append(Span(f"  {middle(visible_line(one.comment), width - 110)}", "dim"))
    return line


MARKS = {
    "verified": Span(" ✓ ", "pass"),
    "waits": Span(" ○ ", "not_measured"),
    "expired": Span(" ○ ", "not_measured"),
    "refused": Span(" ✗ ", "fail-cell"),
}
"""What the verifier says, as a glyph."""


def checked_block(one: CheckedDecision, of_this_report: bool) -> Block:
    """Return what the verifier says of one decision, and whether it is about the report shown."""
    report = "about the report shown" if of_this_report else "about an earlier report"
    head = Span(f"{one.number}  {visible_line(one.word)}  ", "strong")
    return Block("; ".join((one.says, report, *one.lines)), "text", [MARKS[one.says], head])


def checked_words(found: Sequence[CheckedDecision]) -> tuple[str, str]:
    """Return one line about all of them, and its style."""
    counts = Counter[str](one.says for one in found)
    told = ", ".join(f"{counts[says]} {says}" for says in MARKS if counts[says])
    bad = counts["refused"] > 0
    count = words.plural(len(found), "decision")
    text = f"{'✗' if bad else '✓'} {count}, checked offline: {told}"
    return text, "fail" if bad else "pass"


def key_line(key: KeyInfo, width: int) -> list[Span]:
    """Return one key: its owner, its fingerprint, and its path in the remaining room."""
    name = middle(visible_line(key.principal or key.comment), 24)
    keyid = middle(visible_line(key.fingerprint), 20)
    place = visible_line("in ssh-agent" if key.where == "ssh-agent" else key.where)
    locked = [Span("  locked", "not_measured")] if key.locked else []
    room = max(12, width - width_of([Span(name), Span(keyid), *locked]) - 4)
    return [
        Span(name, "strong" if key.principal else "not_measured"),
        Span(f"  {keyid}", "dim"),
        Span(f"  {middle(place, min(room, 24))}"),
        *locked,
    ]


def may_sign(key: KeyInfo) -> bool:
    """Return whether a key belongs to an approver."""
    return key.principal is not None and "approver" in key.roles


def signer_lines(
    found: DecisionView,
    keys: Sequence[KeyInfo] | None,
    width: int,
    *,
    throw_away: bool = False,
    served: str | None = None,
) -> list[Line]:
    """Return the lines that name the signer and the digests that would be bound. `served` is the
    role of a served session's person."""
    if served == "decide":
        who: Line = [Span(" key ", "dim"), Span("yours: Enter on a decision says how")]
    elif served is not None:
        who = [Span(" ○ ", "not_measured"), Span(f"a session with the role {served}", "dim")]
    elif keys is None:
        who = [Span(" looking for keys…", "dim")]
    elif keys:
        who = [Span(" key ", "dim"), *key_line(keys[0], width - 12)]
        if len(keys) > 1:
            who = [*who, Span(f"  1 of {len(keys)}", "dim")]
    else:
        who = [
            Span(" ○ no key", "not_measured"),
            Span(
                ": Enter on a decision makes one for this demo"
                if throw_away
                else " in ssh-agent or ~/.ssh: Enter on a decision makes one",
                "dim",
            ),
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
    """Return the lines about the signature that was made first."""
    signed = f"{len(pending.signers)} of {pending.needed}"
    who = ", ".join(visible_line(name) for name in pending.signers) or "no approver"
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


def signed_word(signed: SignedDecision) -> Span:
    """Return the outcome of a signature as a glyph and a word."""
    if signed.verified:
        return Span("✓ verified", "pass")
    if signed.pending:
        return Span("○ waits for another approver", "not_measured")
    return Span("✗ not verified", "fail-cell")


def signed_lines(
    found: DecisionView,
    signed: SignedDecision,
    file: str,
    check: CheckedDecision | None,
    width: int,
) -> list[Line]:
    """Return what was signed by whom, until when it holds, its file, and what was checked."""

    def row(label: str, text: str) -> list[Span]:
        return [Span(f" {pad(label, 10)}", "dim"), Span(middle(visible_line(text), width - 12))]

    last = standing(found)
    until = signed.expires
    if signed.verified and last is not None:
        until += f"   supersedes decision {last.number}"
    made = f"{signed.number}   {signed.decision}   {signed.principal}   {signed.created}"
    checked = row("checked", "signature verified, report derived again")
    if check is not None and check.says in ("verified", "waits"):
        checked = row("checked", "bytes read back, signature verified, report derived again")
    elif check is not None:
        told = visible_line("; ".join(check.lines))
        checked = [Span(f" ✗ its file: {middle(told, width - 13)}", "fail")]
    return [row("decision", made), row("until", until), row("file", file), checked]


def dialog_width(screen: int) -> int:
    """Return the width of a dialog of the guide on a screen."""
    return 100 if screen >= 120 else min(74, screen)


def bound_lines(found: DecisionView, decision: str, environment: str | None = None) -> list[Line]:
    """Return the sentence that is signed, and the digests that it is bound to."""
    where = visible_line(environment or found.environment)
    sentence = SENTENCES[decision].format(environment=where)
    reasons = f"{found.recommendation}, {words.plural(len(found.reasons), 'reason')}"
    return [
        [
            Span(" You say: "),
            Span(f"{middle(visible_line(found.candidate_id), 30)} {sentence}", "strong"),
        ],
        [],
        fact("subject", found.candidate_id, found.candidate_digest),
        fact("report", reasons, found.report_digest),
        [],
    ]


def fact(label: str, name: str, digest: str | None) -> list[Span]:
    """Return a name and the digest that binds it."""
    sha = f"sha256 {words.short(digest)}" if digest else "digest not measured"
    return [
        Span(f" {pad(label, 10)}", "dim"),
        Span(pad(middle(visible_line(name), 28), 30)),
        Span(sha),
    ]


def error_lines(error: DeskError, width: int) -> list[Line]:
    """Return a refusal over the whole width of a dialog, then what can be done."""
    told = textwrap.wrap(f"✗ {visible_line(error.text)}", width, break_on_hyphens=False)
    return [*([Span(f" {part}", "fail")] for part in told), *way_lines(error, width)]


def way_lines(error: DeskError, width: int) -> list[Line]:
    """Return the ways out of a refusal."""
    return [
        [Span(f"   {part}", "dim")]
        for way in error.ways_out[:3]
        for part in textwrap.wrap(
            visible_line(way), width - 2, subsequent_indent="  ", break_on_hyphens=False
        )
    ]
