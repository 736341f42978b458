"""What a report says of final messages as text: likeness to a reference, and wanted phrases.

Diagnostic only: words are not meaning, and no gate, limit or recommendation reads any of it.
"""

from typing import Any

from msgspec import Struct, to_builtins

ROLE = "diagnostic only"
NOTHING = "no episode names a reference message or a wanted phrase"
SHOWN_PHRASES = 10


class TextScore(Struct, frozen=True, kw_only=True):
    """A mean from 0 to 1 over `n` messages; `why` when there is none."""

    mean: float | None = None
    n: int = 0
    why: str | None = None


class PhraseCount(Struct, frozen=True, kw_only=True):
    """Messages of one episode that say a phrase, deny it, leave it out, or are not known."""

    episode_id: str
    phrase: str
    found: int = 0
    negated: int = 0
    absent: int = 0
    unknown: int = 0


class TextEvidence(Struct, frozen=True, kw_only=True):
    """Final messages beside the references and phrases of their episodes: of every attempt made,
    `checked` of them looked at and more left out when `partly`. `model` names the embedding model
    and `model_sha256` its files."""

    exact: TextScore
    indel: TextScore
    token_f1: TextScore
    embedding: TextScore
    phrases: tuple[PhraseCount, ...] = ()
    checked: int = 0
    partly: bool = False
    model: str | None = None
    model_sha256: str | None = None


def text_section(text: TextEvidence | None) -> dict[str, Any]:
    """The members of the report's `diagnostics` that compare words."""
    nothing = TextScore(why=NOTHING)
    said = text or TextEvidence(exact=nothing, indel=nothing, token_f1=nothing, embedding=nothing)
    found = sum(one.found for one in said.phrases)
    made = found + sum(one.negated + one.absent for one in said.phrases)
    phrases = TextScore(mean=found / made, n=made) if made else TextScore(why=_no_phrase(text))
    return {
        "text_exact": _score(said.exact),
        "text_indel": _score(said.indel),
        "text_token_f1": _score(said.token_f1),
        "text_embedding": {
            **_score(said.embedding),
            "model": said.model,
            "model_sha256": said.model_sha256,
        },
        "text_phrases": {
            **_score(phrases),
            "phrases": [to_builtins(one) for one in said.phrases],
        },
    }


def text_named(section: dict[str, Any]) -> bool:
    """Whether an episode names a text, by the report's diagnostics."""
    return any(one["why"] != NOTHING for one in section.values() if "role" in one)


def text_lines(section: dict[str, Any]) -> list[str]:
    """What a rendering says of a report's text scores, in sentences."""
    if not text_named(section):
        return [f"Text scores: not measured: {NOTHING}."]
    lines = ["Text scores (text_…) compare words: diagnostic only, no gate reads them."]
    missed = [one for one in section["text_phrases"]["phrases"] if one["negated"] or one["absent"]]
    lines += [
        f"{one['episode_id']}: “{one['phrase']}” said in {one['found']}, denied in "
        f"{one['negated']}, absent from {one['absent']} messages."
        for one in missed[:SHOWN_PHRASES]
    ]
    if len(missed) > SHOWN_PHRASES:
        lines.append(f"{len(missed) - SHOWN_PHRASES} more phrases stand in report.json.")
    return lines


def text_unknown(text: TextEvidence | None) -> list[tuple[str, str]]:
    """(field, why) of the text scores that are not measured."""
    if text is None:
        return [("diagnostics.text", NOTHING)]
    scores = {
        "exact": text.exact,
        "indel": text.indel,
        "token_f1": text.token_f1,
        "embedding": text.embedding,
    }
    found = [(f"diagnostics.text_{name}", one.why) for name, one in scores.items() if one.why]
    unknown = sum(one.unknown for one in text.phrases)
    if unknown:
        found.append(("diagnostics.text_phrases", f"not known in {unknown} messages"))
    if text.partly:
        found.append(("diagnostics.text", f"looked at the first {text.checked:,} messages"))
    return found


def _no_phrase(text: TextEvidence | None) -> str:
    if text is None:
        return NOTHING
    return "no message is known" if text.phrases else "no episode names a wanted phrase"


def _score(score: TextScore) -> dict[str, Any]:
    return {"mean": score.mean, "n": score.n, "role": ROLE, "why": score.why}
