"""An id that is an e-mail, a card or a token is the name of an attempt like any other, and the
store keeps its digest alone."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest
from doors import REPOSITORY, Door, every_byte

from reviewer.testing.mutants import CANARIES

SUITE, TASK = "file-tools-v1", "golden-list-src"
OTHER = "sam.b.oak@corpmail.io"


def chat(session: str, more: int) -> list[Any]:
    messages = [{"role": "user", "content": "Hi"}, *[{"role": "assistant", "content": "Ho"}] * more]
    return [{"session_id": session, "messages": messages}]


def claude(session: str, more: int) -> list[Any]:
    made = []
    for n in range(1 + more):
        role, parent = ("assistant", f"u{n - 1}") if n else ("user", None)
        said = {"role": role, "content": [{"type": "text", "text": f"{n}"}]}
        if n:
            said |= {"id": f"m{n}", "model": "m", "stop_reason": "end_turn"}
        made.append({"type": role, "uuid": f"u{n}", "parentUuid": parent, "sessionId": session,
                     "timestamp": f"2026-01-01T00:00:0{n}Z", "message": said})  # fmt: skip
    return made


def thread(session: str, more: int) -> list[Any]:
    said = [{"type": "human", "content": "Hi", "id": "h"}]
    said += [{"type": "ai", "content": f"{n}", "id": f"a{n}"} for n in range(more)]
    return [{"values": {"messages": said}, "next": [], "metadata": {"step": more},
             "config": {"configurable": {"thread_id": session}}}]  # fmt: skip


FORMS: dict[str, Callable[[str, int], list[Any]]] = {
    "openai-chat": chat, "claude-code": claude, "langgraph-history": thread,
}  # fmt: skip


def nothing_kept(door: Door, session: str) -> None:
    door.healthy()
    if session not in (*CANARIES, OTHER):
        return
    held = every_byte(door.root / "store").lower()
    assert session.lower().encode() not in held


@pytest.mark.parametrize("session", ["s-1", *CANARIES])
@pytest.mark.parametrize("form", FORMS)
def test_the_same_id_is_the_same_attempt_and_is_not_kept(
    door: Door, form: str, session: str
) -> None:
    for name, more in (("1.jsonl", 1), ("2.jsonl", 2)):
        said = door.take(name, FORMS[form](session, more), "--candidate", "c")
        assert said.code == 0, said
        assert session not in CANARIES or session not in said.both
    assert door.one("SELECT count(*) FROM traces") == 1
    nothing_kept(door, session)


@pytest.mark.parametrize("form", FORMS)
def test_two_ids_that_are_masked_alike_stay_two_names(door: Door, form: str) -> None:
    for name, session in (("1.jsonl", CANARIES[0]), ("2.jsonl", OTHER)):
        assert door.take(name, FORMS[form](session, 1)).code == 0
    assert len(set(door.rows("SELECT name FROM attempt_name"))) == 2
    nothing_kept(door, OTHER)


@pytest.mark.parametrize("form", FORMS)
def test_such_an_id_costs_no_evidence_in_a_private_suite(door: Door, form: str) -> None:
    shutil.copytree(REPOSITORY / "suites" / SUITE, door.root / "suites" / SUITE)
    session = CANARIES[0]
    mapped = door.file("map.json", {session: TASK})
    door.file("1.jsonl", FORMS[form](session, 1))
    said = door.ok("import", door.root / "1.jsonl", "--suite", SUITE, "--candidate", "c",
            "--episode-map", mapped)  # fmt: skip
    assert "its digest is its name" in said.err
    findings = [code for (code,) in door.rows("SELECT code FROM findings")]
    assert not [one for one in findings if "redact" in one or "email" in one], findings
    assert door.one("SELECT count(*) FROM attempt_name") == 1
    nothing_kept(door, session)
