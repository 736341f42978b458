"""What every statement of ours is built of: text that can be drawn, safe integers, descriptors.

Unknown fields are errors, integers stay within ±(2^53 - 1), there are no floats, and text has
no control or bidirectional characters, so a statement can be drawn anywhere as it stands.
"""

import re
import unicodedata
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
VERIFIER_ID = "https://reviewer.dev/verifier"
MAX_SAFE_INT = 2**53 - 1

_HIDDEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)


def parse_time(text: str) -> datetime:
    """An RFC 3339 time in Z, as an aware datetime (cut to microseconds); ValueError otherwise."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError("must be an RFC 3339 time in UTC, such as 2026-01-31T09:30:00Z")
    whole = datetime.strptime(match[1], "%Y-%m-%dT%H:%M:%S")
    return whole.replace(microsecond=int((match[2] or "").ljust(6, "0")[:6]), tzinfo=UTC)


def _is_time(text: str) -> str:
    parse_time(text)
    return text


def _is_visible(text: str) -> str:
    for character in text:
        if unicodedata.category(character) in _HIDDEN or character in _BIDI:
            raise ValueError(f"must not contain U+{ord(character):04X}")
    return text


def _is_visible_block(text: str) -> str:
    _is_visible(text.replace("\n", ""))
    return text


Text = Annotated[str, StringConstraints(min_length=1, max_length=4096), AfterValidator(_is_visible)]
Block = Annotated[str, StringConstraints(max_length=16384), AfterValidator(_is_visible_block)]
Hex = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Time = Annotated[str, AfterValidator(_is_time)]
Count = Annotated[int, Field(ge=0, le=MAX_SAFE_INT)]
Ordinal = Annotated[int, Field(ge=1, le=MAX_SAFE_INT)]
SafeInt = Annotated[int, Field(ge=-MAX_SAFE_INT, le=MAX_SAFE_INT)]
KeyId = Annotated[str, StringConstraints(pattern=r"^SHA256:[A-Za-z0-9+/]{43}$")]
Uuid = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$")]

Recommendation = Literal["promote", "block", "repair", "hold"]


class Part(BaseModel):
    """Base: strict types, no unknown fields, camelCase on the wire only."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, alias_generator=to_camel, populate_by_name=False
    )


class Digest(Part):
    sha256: Hex


class DigestOnly(Part):
    digest: Digest


class Described(Part):
    """A ResourceDescriptor that has a name."""

    name: Text
    digest: Digest


class Located(Part):
    """A ResourceDescriptor that has a URI."""

    uri: Text
    digest: Digest


class Versions(Part):
    reviewer: Text
    python: Text


class Verifier(Part):
    id: Text
    version: Versions


class CandidateView(Part):
    """The readable copy of the manifest: re-derived from the file by whoever verifies."""

    authors: list[Text]
    model: Described
    prompts: list[Described]
    tools: list[Described]
    config: list[Described]


class Audit(Part):
    """Where the journal stood when the decision was made."""

    algorithm: Text
    seq: Count
    head: Hex


class ReportRef(Part):
    digest: Digest
    recommendation: Recommendation
    reasons: list[Text]


class Reviewer(Part):
    principal: Text
    keyid: KeyId
