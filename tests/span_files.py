"""Files of spans: read whole, or made of a few words for one test."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reviewer.importing.reader import Broken, DocumentReader, Foreign
from reviewer.importing.source import Source

DATA = Path(__file__).resolve().parent / "data"
START = 1_795_217_417_000_000_000
SECOND = 1_000_000_000


def read(reader: DocumentReader, path: Path) -> list[Foreign]:
    """Every episode of a file in which nothing is broken."""
    found = list(reader.traces(Source(path)))
    assert not [one for one in found if isinstance(one, Broken)], found
    return [one for one in found if isinstance(one, Foreign)]


def told(reader: DocumentReader, path: Path) -> dict[str, dict[str, Any]]:
    """Its native records by episode id."""
    records = [json.loads(one.raw) for one in read(reader, path)]
    by_id = {record["episode_id"]: record for record in records}
    assert len(by_id) == len(records)
    return by_id


def events(record: dict[str, Any], *kinds: str) -> list[dict[str, Any]]:
    return [event for event in record["events"] if event["kind"] in kinds]


def said(record: dict[str, Any]) -> list[tuple[str, str]]:
    return [(event["actor"], event["message"]) for event in events(record, "message")]


def used(record: dict[str, Any]) -> list[tuple[str, str | None]]:
    """(tool, status) of every result."""
    return [(event["tool"], event.get("status")) for event in events(record, "tool_result")]


def spent(records: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """(input, output) tokens of the model calls, from the events that carry them."""
    counts = [event.get("tokens", {}) for one in records for event in one["events"]]
    return (
        sum(count.get("input_tokens", 0) for count in counts),
        sum(count.get("output_tokens", 0) for count in counts),
    )


def typed(value: Any) -> dict[str, Any]:
    """A plain value as OTLP writes it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(one) for one in value]}}
    return {"stringValue": value if isinstance(value, str) else json.dumps(value)}


def span(
    number: int,
    parent: int = 0,
    at: float = 0,
    lasts: float = 1,
    trace: int = 1,
    name: str = "work",
    error: str = "",
    **attributes: Any,
) -> dict[str, Any]:
    """A span as OTLP writes it; in names of attributes `__` stands for a dot. What is no text and
    no number becomes JSON text."""
    start = START + int(at * SECOND)
    found: dict[str, Any] = {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + int(lasts * SECOND)),
        "attributes": [
            {"key": key.replace("__", "."), "value": typed(value)}
            for key, value in attributes.items()
        ],
    }
    if parent:
        found["parentSpanId"] = f"{parent:016x}"
    if error:
        found["status"] = {"code": 2, "message": error}
    return found


def request(*spans: dict[str, Any], service: str = "desk") -> dict[str, Any]:
    """One export request."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def agent(number: int, **more: Any) -> dict[str, Any]:
    own = {"gen_ai__operation__name": "invoke_agent", "name": "invoke_agent", "lasts": 10}
    return span(number, **{**own, **more})


def chat(
    number: int, given: list[Any], answer: list[Any], tokens: tuple[int, int] = (10, 2), **more: Any
) -> dict[str, Any]:
    """A model call: messages are (role, text), a dict of a message, or (role, part …)."""
    return span(
        number,
        **{
            "gen_ai__operation__name": "chat",
            "gen_ai__request__model": "m-1",
            "gen_ai__input__messages": [_message(one) for one in given],
            "gen_ai__output__messages": [_message(one) for one in answer],
            "gen_ai__usage__input_tokens": tokens[0],
            "gen_ai__usage__output_tokens": tokens[1],
            **more,
        },
    )


def tool(number: int, name: str, own: str, result: str, **more: Any) -> dict[str, Any]:
    """A tool span."""
    return span(
        number,
        **{
            "gen_ai__operation__name": "execute_tool",
            "gen_ai__tool__name": name,
            "gen_ai__tool__call__id": own,
            "gen_ai__tool__call__result": result,
            **more,
        },
    )


def called(own: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": own, "name": name, "arguments": arguments}


def returned(own: str, result: Any) -> dict[str, Any]:
    return {"type": "tool_call_response", "id": own, "result": result}


def _message(given: Any) -> dict[str, Any]:
    role, *parts = given
    return {"role": role, "parts": [
        {"type": "text", "content": part} if isinstance(part, str) else part for part in parts
    ]}  # fmt: skip
