"""Comparing a message with a reference or with phrases. Diagnostics: nothing here gates a release.

A phrase is looked for as words, not as meaning. Care is taken of plain English negation, so that
"no bleeding risk" does not contain "bleeding risk"; irony and other languages are beyond it.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Literal

from reviewer.contract.model import Value
from reviewer.measure.text import exact_match, indel_ratio, squad_f1

PhraseUse = Literal["found", "negated", "absent"]

LONGEST = 100_000
"""Characters; what takes more than linear time is not measured on longer texts."""

_APOSTROPHES = str.maketrans({"’": "'", "ʼ": "'", "‘": "'", "`": "'"})
_PARAGRAPH = re.compile(r"\n\s*(?:\n|[-*•]\s|\d+[.)]\s)")
_TOKEN = re.compile(r"\w+(?:'\w+)*|[^\w\s]")
_STOPS = frozenset('.,;:!?()[]{}—–|"')
_TURNS = frozenset(
    {"but", "however", "although", "though", "because", "since", "that", "which", "who", "while"}
    | {"yet", "so", "unless", "except"}
)
_LISTED = frozenset({"or", "nor"})
_NEGATORS = frozenset(
    {"no", "not", "never", "without", "neither", "nor", "none", "cannot"}
    | {"denies", "denied", "deny", "denying", "lacks", "lacking"}
    | {"excludes", "excluded", "excluding"}
    | {"dont", "doesnt", "didnt", "isnt", "arent", "wasnt", "werent", "cant"}
)
_PAIRS = frozenset(
    {("free", "of"), ("absence", "of"), ("lack", "of"), ("instead", "of"), ("rather", "than")}
    | {("rule", "out"), ("rules", "out"), ("ruled", "out")}
)
_NO_NEGATION = {
    "no": frozenset({"doubt", "question", "wonder", "less", "later", "sooner", "matter"}),
    "not": frozenset({"only", "just", "merely", "simply", "least"}),
    "without": frozenset({"doubt", "delay", "fail", "question"}),
}
_WINDOW = 5
_AFTER = re.compile(
    r" ?(?:"
    r"[:=–—-] ?(?P<none>none|no|nil|absent)(?= ?(?:[.,;!?)]|$))"
    r"|(?:(?:is|are|was|were|has|have|had|will|would|can|could|does|do|did|should|may|must|be|been)"
    r"(?P<nt>n't)? |(?P<cannot>cannot |can't |won't ))+"
    r"(?P<not>not (?!only|just|merely|simply)|never )?(?:yet |be |been )*"
    r"(?P<out>ruled out|excluded|absent)?"
    r")"
)


class TextChecks(Value, frozen=True):
    """How like its reference a message is. `indel` is None for texts too long to compare."""

    exact: bool
    indel: float | None
    token_f1: float


class PhraseCheck(Value, frozen=True):
    """`use` is None for a message too long to look into."""

    phrase: str
    use: PhraseUse | None


def compare_texts(message: str, reference: str) -> TextChecks:
    """Exact match (case and outer white space apart), Indel ratio and SQuAD token F1, 0 to 1."""
    short = max(len(message), len(reference)) <= LONGEST
    return TextChecks(
        exact=exact_match(message, reference),
        indel=indel_ratio(message, reference) if short else None,
        token_f1=squad_f1(message, reference),
    )


def phrase_checks(message: str, phrases: Iterable[str]) -> tuple[PhraseCheck, ...]:
    """How the message uses each phrase."""
    return tuple(PhraseCheck(phrase=p, use=phrase_use(message, p)) for p in phrases)


def phrase_use(message: str, phrase: str) -> PhraseUse | None:
    """Whether the message says the phrase: `found` when it stands at least once without a negation
    around it, `negated` when each place denies it. None for a message of more than LONGEST
    characters.

    Case, white space, invisible characters and the form of apostrophes do not matter; whole words
    do. ValueError for a phrase without a letter or digit.
    """
    wanted = _folded(phrase)
    if not any(map(str.isalnum, wanted)):
        raise ValueError("a phrase needs a letter or a digit")
    if len(message) > LONGEST:
        return None
    text = _folded(message)
    use: PhraseUse = "absent"
    for match in re.finditer(rf"{_edge(wanted[0])}{re.escape(wanted)}{_edge(wanted[-1])}", text):
        before = text[max(0, match.start() - 400) : match.start()]
        if _denied_before(before) == _denied_after(text[match.end() : match.end() + 100]):
            return "found"
        use = "negated"
    return use


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES).casefold()
    seen = "".join(c for c in plain if unicodedata.category(c) != "Cf")
    return " ".join(_PARAGRAPH.sub(" . ", seen).split())


def _edge(character: str) -> str:
    return r"\b" if re.match(r"\w", character) else ""


def _denied_before(before: str) -> bool:
    """Whether the words before the phrase, up to the start of its clause, deny it."""
    words = _TOKEN.findall(before)
    # "no pain, nausea or X" denies the whole list, commas and all.
    listed = bool(words) and words[-1] in _LISTED
    counted = 0
    for i in range(len(words) - 1, -1, -1):
        word = words[i]
        if word in _TURNS or (word in _STOPS and not (listed and word == ",")):
            return False
        counted += word[0].isalnum()
        if counted > _WINDOW and not listed:
            return False
        start = _negator(words, i)
        if start is not None:
            return start == 0 or _negator(words, start - 1) is None
    return False


def _negator(words: list[str], end: int) -> int | None:
    """Where the negation that ends at this word begins; None when the word is none."""
    word = words[end]
    if end and (words[end - 1], word) in _PAIRS:
        return end - 1
    following = words[end + 1] if end + 1 < len(words) else ""
    if following in _NO_NEGATION.get(word, ()):
        return None
    return end if word in _NEGATORS or word.endswith("n't") else None


def _denied_after(after: str) -> bool:
    match = _AFTER.match(after)
    if match is None:
        return False
    if match["none"]:
        return True
    denied = bool(match["nt"] or match["cannot"] or match["not"])
    return denied != bool(match["out"])
