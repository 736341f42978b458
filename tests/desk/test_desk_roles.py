"""What the persons of a served workstation may do: by role, and apart from the machine's own."""

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from doors import SUITE, V7, V8, Door
from msgspec.structs import replace
from people import TWO, People, key_file

from reviewer.cli.workstation import LaterDesk
from reviewer.desk.decisions import own_key
from reviewer.desk.decisions.own_key import Prepared
from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.place import at
from reviewer.desk.roles import ACTS, ANSWERS, ROLES, Role, require
from reviewer.signing.keys import load_signer, sign_for
from reviewer.signing.ssh import NAMESPACE, armored

MACHINE_ONLY = {
    "archives": "ask export",
    "decisions": "as_trusted attest break_glass cosign key_at key_file make_key sign sign_release "
    "state_loss take trust",
    "imports": "close sessions",
    "judge": "close",
    "labels": "sign take",
    "runs": "close",
    "workspace": "explain_suite hold merge witness",
}
"""What is left to the person at the machine: its keys, whom it trusts, files of other people, SQL.
A method that is added to a room belongs in here, or in a row of `ACTS`."""


def methods(desk: Desk, room: str) -> set[str]:
    kind = type(getattr(desk, room))
    return {name for name, _ in inspect.getmembers(kind, callable) if not name.startswith("_")}


def test_every_method_of_every_room_is_somebodys(full: Door) -> None:
    desk = full.desk()
    rooms = [name for name, made in vars(Desk).items() if type(made).__name__ == "late"]
    assert len(rooms) > 12
    for room in rooms:
        open_to = {method for acts in ACTS.values() for method in acts.get(room, "").split()} | {
            method for of, method in ANSWERS if of == room
        }
        kept = set(MACHINE_ONLY.get(room, "").split())
        assert not open_to & kept, room
        assert open_to | kept == methods(desk, room), room
        for method in kept:
            for role in ROLES:
                with pytest.raises(DeskError, match=f"this session may {role}"):
                    require(role, room, method)
    desk.close()


def served(door: Door, role: Role, name: str = "dana", principal: str = "") -> LaterDesk:
    return LaterDesk(at(door.root), name, "", role, principal)


@pytest.fixture
def viewer(full: Door) -> Iterator[LaterDesk]:
    desk = served(full, "view")
    yield desk
    desk.close()


def test_one_who_may_view_reads_all_and_changes_nothing(full: Door, viewer: LaterDesk) -> None:
    assert {one.candidate_id for one in viewer.workspace.candidates(SUITE)} == {V7, V8}
    assert viewer.decisions.keys() == []
    shown = viewer.decisions.view(SUITE, V7)
    assert shown.recommendation == "block"
    assert shown.preselected is None
    assert {(one.open, one.why) for one in shown.choices} == {
        (False, "this session may view, not sign")
    }
    trace = f"{SUITE}/{V7}/attack-014/1"
    for change in (
        lambda: viewer.traces.write_note(trace, 1, "note", "seen"),
        lambda: viewer.labels.session(SUITE, V8, V7),
        lambda: viewer.decisions.prepare(SUITE, V7, "BLOCK"),
        lambda: viewer.reports.export(SUITE, V7, str(full.root / "out"), ("json",)),
    ):
        with pytest.raises(DeskError, match="this session may view, not label"):
            change()
    assert full.one("SELECT count(*) FROM note") == 0
    assert not (full.root / "out").exists()


def test_one_who_may_label_labels_and_signs_nothing(full: Door) -> None:
    desk = served(full, "label", "kim")
    try:
        assert desk.labels.session(SUITE, V8, V7).reviewer == "kim"
        desk.traces.write_note(f"{SUITE}/{V7}/attack-014/1", 1, "note", "seen")
        for change in (
            lambda: desk.decisions.prepare(SUITE, V7, "BLOCK"),
            lambda: desk.decisions.sign(SUITE, V7, "BLOCK", "key"),
            lambda: desk.decisions.no_such_method(),
            lambda: desk.no_such_room.anything(),
        ):
            with pytest.raises(DeskError, match="this session may label, not decide"):
                change()
    finally:
        desk.close()
    assert full.rows("SELECT reviewer FROM note") == [("kim",)]
    assert not (full.root / "store" / "decisions").exists() or not list(
        (full.root / "store" / "decisions").glob("*.json")
    )


# a key of another machine -------------------------------------------------------------------------


@pytest.fixture
def people(door: Door) -> People:
    return People(door)


def signed_by(people: People, name: str, data: bytes, namespace: str = NAMESPACE) -> bytes:
    """As `ssh-keygen -Y sign` writes it on that person's machine."""
    return armored(sign_for(load_signer(str(people.key(name))), namespace, data)).encode()


def test_two_sign_with_keys_this_machine_does_not_hold(people: People) -> None:
    alice, bob = served(people.door, "decide", "alice"), served(people.door, "decide", "bob")
    try:
        prepared = alice.decisions.prepare(TWO, V8, "PROMOTE", "read by hand")
        assert list(people.decisions.glob("*.json")) == []
        first = alice.decisions.sign_prepared(
            prepared, signed_by(people, "alice", prepared.signed_bytes)
        )
        assert (first.number, first.principal) == (1, "alice")
        assert people.verify().code == 30, "one of two"
        waiting = bob.decisions.view(TWO, V8).pending
        assert waiting is not None
        added = bob.decisions.prepare_added(waiting.path)
        assert added.payload == prepared.payload
        second = bob.decisions.sign_prepared(added, signed_by(people, "bob", added.signed_bytes))
        assert second.signers == ("alice", "bob")
    finally:
        alice.close()
        bob.close()
    assert people.verify().code == 0


def refused_signature(people: People, desk: LaterDesk, prepared: Prepared, made: bytes) -> str:
    with pytest.raises(DeskError) as told:
        desk.decisions.sign_prepared(prepared, made)
    assert list(people.decisions.glob("*.json")) == []
    return str(told.value)


def test_what_is_no_signature_of_that_person_is_refused(people: People) -> None:
    desk = served(people.door, "decide", "alice")
    try:
        prepared = desk.decisions.prepare(TWO, V7, "BLOCK")
        data = prepared.signed_bytes
        for made, words in (
            (signed_by(people, "bob", data), "a key of bob, but this session belongs to alice"),
            (signed_by(people, "alice", data + b" "), "signature"),
            (signed_by(people, "alice", data, "git"), "signature"),
            (signed_by(people, "robot", data), "robot"),
            (b"", "SSH SIGNATURE"),
            (b"\x1b[31mPROMOTE", "SSH SIGNATURE"),
            (b"A" * (1 << 20), "SSH SIGNATURE"),
        ):
            assert words in refused_signature(people, desk, prepared, made), made[:40]
        other = replace(prepared, told=prepared.told and prepared.told._replace(decision="REPAIR"))
        made = signed_by(people, "alice", data)
        assert "changed after the decision was prepared" in refused_signature(
            people, desk, other, made
        )
    finally:
        desk.close()


def test_what_changed_since_it_was_prepared_is_told(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = served(people.door, "decide", "alice")
    try:
        prepared = desk.decisions.prepare(TWO, V7, "BLOCK")
        made = signed_by(people, "alice", prepared.signed_bytes)
        desk.traces.write_note(f"{TWO}/{V7}/attack-014/1", 1, "note", "seen")
        with pytest.raises(DeskError, match="the report changed"):
            desk.decisions.sign_prepared(prepared, made)
        prepared = desk.decisions.prepare(TWO, V7, "BLOCK")
        made = signed_by(people, "alice", prepared.signed_bytes)
        assert people.sign("bob", "--decision", "REPAIR", candidate=V7).code == 10
        with pytest.raises(DeskError, match="changed after the decision was prepared"):
            desk.decisions.sign_prepared(prepared, made)
        with monkeypatch.context() as later:
            later.setattr(own_key, "STAYS", -own_key.STAYS)
            with pytest.raises(DeskError, match="more than an hour ago"):
                desk.decisions.sign_prepared(prepared, made)
    finally:
        desk.close()


def test_one_who_approves_nothing_here_prepares_nothing(people: People, tmp_path: Path) -> None:
    for name in ("robot", "stranger"):
        desk = served(people.door, "decide", name)
        with pytest.raises(DeskError, match=f"{name} is not an approver in store/signers"):
            desk.decisions.prepare(TWO, V7, "BLOCK")
        desk.close()
    # The name of labels and that of the key may differ.
    public = key_file(people.door.root, "erin").with_suffix(".pub")
    people.door.ok("keys", "trust", "erin@shop.example", public, "--roles", "approver")
    desk = served(people.door, "decide", "erin", "erin@shop.example")
    prepared = desk.decisions.prepare(TWO, V7, "BLOCK")
    told = desk.decisions.sign_prepared(prepared, signed_by(people, "erin", prepared.signed_bytes))
    assert told.principal == "erin@shop.example"
    desk.close()
