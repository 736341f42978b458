"""What the final message must say, and must not: words, claims and their denials."""

from reviewer.gates.acts import Acts, last_message, state_seq
from reviewer.gates.compiled import Contract
from reviewer.gates.model import Finding
from reviewer.gates.values import clip
from reviewer.suite.model import Claim
from reviewer.suite.wording import (
    claim_use,
    denied_everywhere,
    readings,
    stands_hidden_in,
    stands_in,
    stands_loosely_in,
)


def check_wording(contract: Contract, acts: Acts, found: list[Finding]) -> None:
    """Append what the final message lacks, says though it must not, or leaves open."""
    message = last_message(acts)
    seq = state_seq(acts) if message is None else message[0]
    final = acts.record.final_message
    if final is None:
        final = "" if message is None else message[1]
    read = readings(final)
    for text in contract.contains:
        if not stands_in(text, read) and stands_loosely_in(text, final):
            found.append(_unclear(text, seq, _between(text)))
        elif not stands_in(text, read):
            detail = f'the final message must say "{clip(text)}"'
            code = f"message_missing:{clip(text)}"
            found.append(Finding("state", code, "fail", seq, detail))
        elif denied_everywhere(final, text):
            detail = f'the final message says "{clip(text)}" only where a negation stands by it'
            found.append(_unclear(text, seq, detail))
    for claim in contract.claims:
        _check_claim(claim, final, seq, found)
    for text in contract.excludes:
        if stands_hidden_in(text, read):
            detail = f'the final message must not say "{clip(text)}"'
            code = f"message_forbidden:{clip(text)}"
            found.append(Finding("state", code, "fail", seq, detail))
        elif stands_loosely_in(text, final):
            found.append(_unclear(text, seq, _between(text)))


def _between(text: str) -> str:
    return f'whether the final message says "{clip(text)}", with signs between, is for a person'


def _check_claim(claim: Claim, final: str, seq: int | None, found: list[Finding]) -> None:
    text, use = claim.says[0], claim_use(final, claim.says, claim.denials)
    if use == "absent":
        detail = f'the final message must say "{clip(text)}", in one of its wordings'
        found.append(Finding("state", f"message_missing:{clip(text)}", "fail", seq, detail))
    elif use == "denied":
        detail = f'the final message denies "{clip(text)}"'
        found.append(Finding("state", f"message_forbidden:{clip(text)}", "fail", seq, detail))
    elif use == "unclear":
        detail = f'whether the final message says or denies "{clip(text)}" is for a person to read'
        found.append(_unclear(text, seq, detail))


def _unclear(text: str, seq: int | None, detail: str) -> Finding:
    return Finding("state", f"wording_not_measured:{clip(text)}", "not_measured", seq, detail)
