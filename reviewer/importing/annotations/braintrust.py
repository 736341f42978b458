"""Braintrust: refused by name. A row of its logs has the scores of people, of programs and of
models in one object, and nothing in its SDK types says who gave which: its audit entries are
untyped, and what `log_feedback` sends about the person (`_audit_metadata`) is not in the row."""

from collections.abc import Iterator

from reviewer.importing.annotations import BadFile, Record


def read(data: bytes) -> Iterator[Record]:
    """Raise BadFile: such files are refused."""
    raise BadFile(
        "does not say who gave a score: Braintrust's rows hold those of people, of programs and of"
        " models in one object",
        "label the attempts here, or export people's scores with their annotators from a tool that"
        " docs/judge.md names",
    )
