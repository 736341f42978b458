"""The trust file: one key, one person, one line that stands."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.signing.errors import AttestError, PublicKeyError, SignersError
from reviewer.signing.signers import parse_signers, read_signers
from reviewer.signing.ssh import (
    PublicKey,
    parse_public_line,
    public_from_blob,
    public_from_raw,
    wire_string,
)


def test_lines_are_read_with_roles_and_comments(desk: Any) -> None:
    signers = parse_signers(desk.trust.replace("\n", "\r\n"))
    assert [one.principal for one in signers.with_role("approver")] == [
        "alice@example.com",
        "bob@example.com",
        "dana@example.com",
    ]
    bob = signers.find(desk.signer("bob@example.com").public)
    assert bob is not None
    assert bob.roles == {"approver", "labeler"}
    assert signers.by_keyid(bob.key.keyid) == bob
    assert signers.find(desk.signer("mallory").public) is None


def test_one_person_may_have_two_keys_with_the_same_roles(desk: Any) -> None:
    text = "".join(f"alice approver {desk.signer(n).public.line(n)}\n" for n in ("home", "work"))
    assert [(one.principal, one.comment) for one in parse_signers(text).keys] == [
        ("alice", "home"),
        ("alice", "work"),
    ]


def test_refusals_name_the_line(desk: Any) -> None:
    alice, bob = desk.signer("a").public.line(), desk.signer("b").public.line()
    first = f"alice approver {alice}\n"
    for second, says in [
        (f"bob approver {alice}", "signers:2: this key is already on line 1"),
        (f"alice approver {alice}", "signers:2: this key is already"),
        (f"alice runner {bob}", "signers:2: alice conflicts with alice on line 1"),
        (f"Alice approver {bob}", "signers:2: Alice conflicts with alice on line 1"),
        (f"bob boss {bob}", "signers:2: unknown role 'boss'"),
        (f"bob approver, {bob}", "signers:2: unknown role ''"),
        ("bob approver", "signers:2: expected"),
        (f"аlice approver {bob}", "signers:2: principal"),
        ("bob approver ssh-rsa AAAA", "signers:2: key type is 'ssh-rsa'"),
        ("bob approver ssh-ed25519 AAAA!", "signers:2: the key is not base64"),
        (f"bob approver {bob[:-8]}", "signers:2: "),
    ]:
        with pytest.raises(SignersError) as caught:
            parse_signers(first + second)
        assert str(caught.value).startswith(says)


def test_keys_under_which_anybody_can_sign_are_refused(desk: Any) -> None:
    """For the neutral point as key, R = neutral and S = 0 verifies over every message."""
    neutral = (1).to_bytes(32, "little")
    forged = neutral + bytes(32)
    assert PublicKey(neutral).verifies(forged, b"any message at all")
    with pytest.raises(SignersError, match=r"signers:1: .*prove nothing"):
        parse_signers(f"eve approver {PublicKey(neutral).line()}")
    for raw in (bytes(32), b"\xff" * 32, ((1 << 255) - 19 + 1).to_bytes(32, "little")):
        with pytest.raises(PublicKeyError, match="prove nothing"):
            public_from_raw(raw)


def test_a_key_blob_has_one_spelling(desk: Any) -> None:
    key = desk.signer("a").public
    assert parse_public_line(key.line("me") + "\n") == (key, "me")
    assert public_from_blob(key.blob) == key
    for blob in (key.blob + b"\0", key.blob[:-1], b"", wire_string(b"ssh-ed25519") + b"\xff" * 4):
        with pytest.raises(PublicKeyError):
            public_from_blob(blob)


def test_the_digest_is_of_the_bytes(desk: Any, tmp_path: Path) -> None:
    path = tmp_path / "signers"
    path.write_text(desk.trust, encoding="utf-8")
    path.chmod(0o644)
    signers, warnings = read_signers(path)
    assert warnings == []
    assert signers.sha256 == parse_signers(desk.trust).sha256
    assert signers.sha256 != parse_signers(desk.trust + "# \n").sha256
    path.chmod(0o646)
    assert "chmod o-w" in read_signers(path)[1][0]


def test_a_file_that_cannot_be_read_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"# caf\xe9\n")
    for name, says in [("none", "no such file"), ("latin", "UTF-8"), (".", "directory")]:
        with pytest.raises(SignersError, match=says):
            read_signers(tmp_path / name)


@given(st.text(alphabet="ab #,\n\t\r=+/ssh-ed25519AC3NzaC1lZDI1NTE5", max_size=200) | st.text())
def test_no_text_crashes_the_parser(text: str) -> None:
    try:
        parse_signers(text)
    except AttestError as error:
        assert str(error).startswith("signers:")  # noqa: PT017 - the allowed outcome
