"""What a contract may name in `critical`: a gate, or a code that one may state."""

from reviewer.suite.gates import GATE_CODES
from reviewer.suite.names import NEAR, likeness

_CODES = frozenset(code for codes in GATE_CODES.values() for code in codes)


def known_check(text: str) -> bool:
    """Whether `text` names a gate, a code, or a code with what may follow its colon.

    `missing` and `missing:` stand for every missing part, `missing:verify_state` for that one.
    """
    head, colon, _ = text.partition(":")
    if f"{head}:" in _CODES:
        return True
    return text in _CODES or (not colon and text in GATE_CODES)


def near_check(text: str) -> str | None:
    """The gate or code that an unknown `text` most likely meant; None when none is like it.

    What follows a colon is kept where the code takes it.
    """
    written, _, rest = text.partition(":")
    known = sorted({*GATE_CODES, *(code.rstrip(":") for code in _CODES)})
    best = max(known, key=lambda word: likeness(written, word))
    if likeness(written, best) < NEAR:
        return None
    return f"{best}:{rest}" if rest and f"{best}:" in _CODES else best
