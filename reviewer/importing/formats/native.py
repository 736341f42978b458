"""Native traces: JSON, JSONL and arrays, in the articles' record form or the long form."""

from pathlib import Path

from reviewer.importing.head import Head
from reviewer.importing.reader import Foreign


class NativeReader:
    name = "native"
    version = "1"
    probe = False

    def sniff(self, head: Head) -> bool:
        """Return True: a JSON file that no other reader claims is read as native, so that each of
        its records says what it lacks."""
        return True

    def suite_id(self, path: Path) -> str:
        return ""

    def candidate_id(self, path: Path) -> str:
        return ""

    def read(self, raw: bytes, candidate_id: str) -> Foreign:
        return Foreign(raw)
