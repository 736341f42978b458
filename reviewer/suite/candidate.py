"""The candidate manifest: which agent, by digest. It is the subject of a signed decision."""

from functools import lru_cache
from typing import Any

from reviewer.suite.canonical import canonical_bytes, sha256_hex
from reviewer.suite.errors import ContractError, shown
from reviewer.suite.model import Candidate
from reviewer.suite.strict_json import load_object
from reviewer.suite.values import candidate_value


def read_candidate(data: bytes, file: str = "candidate.json") -> Candidate:
    """The manifest as a value, its digest computed. ContractError with every problem found."""
    # Here, so that a manifest already validated (`trusted_candidate`) costs no pydantic.
    from reviewer.suite.check import read_shape
    from reviewer.suite.manifest import CandidateShape

    return _value(read_shape(data, file, CandidateShape), file)


@lru_cache(64)
def trusted_candidate(data: bytes, file: str = "candidate.json") -> Candidate:
    """As `read_candidate`, for bytes that passed it before: the shape is not checked again."""
    return _value(load_object(data, file), file)


@lru_cache(64)
def manifest_bytes(data: bytes, file: str = "candidate.json") -> bytes:
    """The RFC 8785 bytes of a manifest: what the digest is of, and what a verifier hashes."""
    return canonical_bytes(load_object(data, file), file)


def _value(raw: dict[str, Any], file: str) -> Candidate:
    candidate = candidate_value(raw, sha256_hex(canonical_bytes(raw, file)), file)
    folder, _, name = file.replace("\\", "/").rpartition("/")
    if folder.endswith("candidates") and name != f"{candidate.candidate_id}.json":
        reason = f"`{shown(candidate.candidate_id)}` does not stand in a file of that name"
        raise ContractError(file, "$.candidate_id", reason)
    return candidate
