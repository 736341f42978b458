"""Traces as Grafana Tempo hands them out: OTLP under other names.

Times are often JSON numbers, whose last digits were rounded on the way.
"""

from typing import Any

from reviewer.importing.formats.otlp import SCOPES, OtlpReader, below
from reviewer.importing.head import Head
from reviewer.importing.walking import Pattern


class TempoReader(OtlpReader):
    name = "tempo"

    def sniff(self, head: Head) -> bool:
        value = head.first
        if not isinstance(value, dict):
            return False
        inner = value.get("trace")
        if isinstance(inner, dict) and isinstance(inner.get("resourceSpans"), list):
            return True
        return _has_batches(value) or _has_batches(inner)

    def roots(self, first: Any) -> tuple[Pattern, ...]:
        return (*below("batches"), *below("trace", "resourceSpans"), *below("trace", "batches"))


def _has_batches(value: Any) -> bool:
    batches = value.get("batches") if isinstance(value, dict) else None
    first = batches[0] if isinstance(batches, list) and batches else None
    return isinstance(first, dict) and any(name in first for name in ("resource", *SCOPES))
