"""From report to signed decision to an offline check, through the commands a pipeline runs."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from doors import SUITE, V7, V8, Door, Said, copied

FILES = ["junit.xml", "report.html", "report.json", "report.md"]


def make_key(folder: Path, name: str, passphrase: bytes | None = None) -> Path:
    private = Ed25519PrivateKey.generate()
    how: KeySerializationEncryption = NoEncryption()
    if passphrase is not None:
        how = BestAvailableEncryption(passphrase)
    path = folder / name
    path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, how))
    path.chmod(0o600)
    public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    path.with_suffix(".pub").write_bytes(public + b" " + name.encode() + b"\n")
    return path


@pytest.fixture
def key(full: Door) -> Path:
    """Robin's key, trusted to approve."""
    made = make_key(full.root, "robin")
    full.ok("keys", "trust", "robin@example.com", made.with_suffix(".pub"))
    return made


def release(candidate: str) -> tuple[str, ...]:
    return ("--suite", SUITE, "--candidate", candidate)


def export(door: Door, candidate: str, out: Path, *more: object) -> Said:
    return door.run("--export-report", out, *release(candidate), *more)


def test_v7_is_blocked_for_exactly_three_reasons(full: Door) -> None:
    said = export(full, V7, full.root / "out")
    report = json.loads((full.root / "out" / "report.json").read_bytes())
    assert said.code == 10
    assert report["recommendation"] == "block"
    texts = [one["text"] if isinstance(one, dict) else one for one in report["reasons"]]
    assert texts == [
        "critical safety failure",
        "not every frozen episode passed",
        "repeatability below policy",
    ]
    assert [one["trace_id"] for one in report["failures"]] == [
        f"{SUITE}/{V7}/appeal-009/2",
        f"{SUITE}/{V7}/attack-014/1",
        f"{SUITE}/{V7}/attack-014/2",
    ]
    assert report["hard_pass_rate"]["value"] == pytest.approx(6 / 9)
    assert report["pass_hat"]["3"] == pytest.approx(1 / 3)
    assert report["cost"]["cpst_usd"] == pytest.approx(0.333 / 6)
    assert report["judge"]["role"] == "advisory only"


def test_v8_is_promoted(full: Door) -> None:
    said = export(full, V8, full.root / "out")
    report = json.loads((full.root / "out" / "report.json").read_bytes())
    assert said.code == 0
    assert (report["recommendation"], report["reasons"], report["failures"]) == ("promote", [], [])
    assert report["cost"]["cpst_usd"] == pytest.approx(0.549 / 9)
    assert sorted(path.name for path in (full.root / "out").iterdir()) == FILES


@pytest.mark.parametrize("candidate", [V7, V8])
def test_the_same_store_gives_the_same_bytes(full: Door, candidate: str, tmp_path: Path) -> None:
    export(full, candidate, tmp_path / "one")
    full.outside("--export-report", tmp_path / "two", *release(candidate))
    other = copied(full.root, tmp_path / "elsewhere")
    export(other, candidate, tmp_path / "three")
    for name in FILES:
        first = (tmp_path / "one" / name).read_bytes()
        assert (tmp_path / "two" / name).read_bytes() == first
        assert (tmp_path / "three" / name).read_bytes() == first


@pytest.mark.parametrize("candidate", [V7, V8])
def test_the_terminal_shows_the_bytes_that_ci_writes(full: Door, candidate: str) -> None:
    export(full, candidate, full.root / "out")
    desk = full.desk()
    view = desk.decisions.view(SUITE, candidate)
    desk.close()
    assert view.report_json == (full.root / "out" / "report.json").read_bytes()
    assert view.markdown.encode() == (full.root / "out" / "report.md").read_bytes()
    assert view.exit_code == (0 if candidate == V8 else 10)


def test_order_of_import_does_not_change_the_report(door: Door, full: Door, tmp_path: Path) -> None:
    for candidate in (V8, V7):
        door.ok("import", door.suite / "traces" / f"{candidate}.jsonl")
    for candidate in (V7, V8):
        export(door, candidate, tmp_path / "one" / candidate, "--format", "json")
        export(full, candidate, tmp_path / "two" / candidate, "--format", "json")
        one, two = (
            json.loads((tmp_path / side / candidate / "report.json").read_bytes())
            for side in ("one", "two")
        )
        for report in (one, two):  # when the store learned of it, and from where, may differ
            report["suite"].pop("frozen_at")
            report.pop("reproduce")
        assert one == two


def signed_file(door: Door) -> Path:
    found = sorted((door.root / "store" / "decisions").glob("*.dsse.json"))
    assert len(found) == 1, found
    return found[0]


def verifying(folder: Path, *more: object) -> Said:
    """Offline, from a folder with copies of three files and no workspace about it."""
    return Door(folder / "nowhere").outside(
        "verify", folder / "decision.json", "--candidate-manifest", folder / "manifest.json",
        "--signers", folder / "signers", *more, cwd=folder,
    )  # fmt: skip


def carried(door: Door, candidate: str, tmp_path: Path) -> Path:
    folder = tmp_path / "pipeline"
    folder.mkdir()
    shutil.copy(signed_file(door), folder / "decision.json")
    shutil.copy(door.suite / "candidates" / f"{candidate}.json", folder / "manifest.json")
    shutil.copy(door.root / "store" / "signers", folder / "signers")
    return folder


def test_promote_signed_with_a_key_file_verifies_offline(
    full: Door, key: Path, tmp_path: Path
) -> None:
    said = full.run("sign", *release(V8), "--key", key)
    assert said.code == 0, said
    folder = carried(full, V8, tmp_path)
    full.root.rename(tmp_path / "gone")
    said = verifying(folder)
    assert (said.code, said.out.splitlines()[-1]) == (0, "PROMOTE"), said


def test_block_verifies_with_10(full: Door, key: Path, tmp_path: Path) -> None:
    assert full.run("sign", *release(V7), "--key", key).code == 10
    said = verifying(carried(full, V7, tmp_path))
    assert (said.code, said.out.splitlines()[-1]) == (10, "BLOCK"), said


def test_promote_is_refused_for_v7(full: Door, key: Path) -> None:
    said = full.run("sign", *release(V7), "--key", key, "--decision", "PROMOTE")
    assert said.code == 10, said
    assert "critical safety failure" in said.err
    assert not list((full.root / "store" / "decisions").glob("*.json"))
    assert full.one("SELECT count(*) FROM decision") == 0


def test_an_encrypted_key_opens_with_the_environments_passphrase(
    full: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_key(full.root, "locked", b"correct horse")
    full.ok("keys", "trust", "lee@example.com", made.with_suffix(".pub"))
    monkeypatch.setenv("REVIEWER_PASSPHRASE", "wrong horse")
    said = full.run("sign", *release(V8), "--key", made)
    assert said.code == 20
    assert "horse" not in said.both
    monkeypatch.delenv("REVIEWER_PASSPHRASE")
    assert full.run("sign", *release(V8), "--key", made).code == 20
    assert full.one("SELECT count(*) FROM decision") == 0
    monkeypatch.setenv("REVIEWER_PASSPHRASE", "correct horse")
    assert full.run("sign", *release(V8), "--key", made).code == 0


def test_an_untrusted_key_leaves_with_30(full: Door, key: Path) -> None:
    said = full.run("sign", *release(V8), "--key", make_key(full.root, "stranger"))
    assert said.code == 30, said
    labeler = make_key(full.root, "labeler")
    full.ok("keys", "trust", "lab@example.com", labeler.with_suffix(".pub"), "--roles", "labeler")
    assert full.run("sign", *release(V8), "--key", labeler).code == 30
    assert full.one("SELECT count(*) FROM decision") == 0


def test_nobody_trusted_leaves_with_30(full: Door) -> None:
    assert full.run("sign", *release(V8), "--key", make_key(full.root, "robin")).code == 30


@pytest.mark.parametrize("kind", ["missing", "folder", "text", "public"])
def test_a_file_that_is_no_key_is_said(full: Door, key: Path, kind: str) -> None:
    path = {
        "missing": full.root / "nothing",
        "folder": full.root,
        "text": full.file("text", "not a key"),
        "public": key.with_suffix(".pub"),
    }[kind]
    said = full.run("sign", *release(V8), "--key", path)
    assert said.code in (20, 30), said
    assert "internal" not in said.err


def test_signing_against_the_recommendation_wants_a_comment(full: Door, key: Path) -> None:
    assert full.run("sign", *release(V8), "--key", key, "--decision", "BLOCK").code == 2
    said = full.run(
        "sign", *release(V8), "--key", key, "--decision", "BLOCK", "--comment", "incident 7"
    )
    assert said.code == 10, said


def test_one_changed_byte_or_another_manifest_is_20(full: Door, key: Path, tmp_path: Path) -> None:
    full.ok("sign", *release(V8), "--key", key)
    folder = carried(full, V8, tmp_path)
    whole = (folder / "decision.json").read_bytes()
    for at in range(0, len(whole) - 1, max(1, len(whole) // 6)):
        changed = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        (folder / "decision.json").write_bytes(changed)
        assert verifying(folder).code == 20, at
    (folder / "decision.json").write_bytes(whole)
    shutil.copy(full.suite / "candidates" / f"{V7}.json", folder / "manifest.json")
    assert verifying(folder).code == 20


def test_threshold_expiry_and_environment_are_30(full: Door, key: Path, tmp_path: Path) -> None:
    full.ok("sign", *release(V8), "--key", key)
    folder = carried(full, V8, tmp_path)
    assert verifying(folder, "--threshold", 2).code == 30
    assert verifying(folder, "--min-seq", 5).code == 30
    assert verifying(folder, "--environment", "staging").code in (20, 30)


def test_an_expired_decision_is_30(
    full: Door, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datetime as real

    full.ok("sign", *release(V8), "--key", key)
    folder = carried(full, V8, tmp_path)

    class Later(real.datetime):
        @classmethod
        def now(cls, tz: real.tzinfo | None = None) -> "Later":
            later = real.datetime.now(tz) + real.timedelta(days=8)
            return cls.fromtimestamp(later.timestamp(), tz)

    monkeypatch.setattr("reviewer.cli.verify.datetime", Later)
    said = full.run(
        "verify", folder / "decision.json", "--candidate-manifest", folder / "manifest.json",
        "--signers", folder / "signers",
    )  # fmt: skip
    assert said.code == 30, said


@pytest.mark.parametrize(
    "option", [("--threshold", "0"), ("--threshold", "x"), ("--min-seq", "-1")]
)
def test_verify_options_that_cannot_be_are_usage_errors(
    full: Door, key: Path, option: tuple[str, str]
) -> None:
    full.ok("sign", *release(V8), "--key", key)
    said = full.run(
        "verify", signed_file(full), "--candidate-manifest",
        full.suite / "candidates" / f"{V8}.json", "--signers", full.root / "store" / "signers",
        *option,
    )  # fmt: skip
    assert said.code == 2, said


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b"\xff\xfe\x00", b'{"payload":1}'])
def test_verify_takes_any_bytes(full: Door, content: bytes) -> None:
    path = full.file("x.json", content)
    good = full.suite / "candidates" / f"{V8}.json"
    for decision, manifest, signers in ((path, good, good), (path, path, path)):
        said = full.run("verify", decision, "--candidate-manifest", manifest, "--signers", signers)
        assert said.code == 20, said


def test_export_with_sign_writes_the_decision_beside_the_report(
    full: Door, key: Path, tmp_path: Path
) -> None:
    said = export(full, V8, full.root / "out", "--sign", key)
    assert said.code == 0, said
    assert sorted(path.name for path in (full.root / "out").iterdir()) == [
        "decision.dsse.json",
        *FILES,
    ]
    folder = carried(full, V8, tmp_path)
    assert (folder / "decision.json").read_bytes() == (
        full.root / "out" / "decision.dsse.json"
    ).read_bytes()
    assert verifying(folder, "--report", full.root / "out" / "report.json").code == 0
    assert verifying(folder, "--report", full.root / "out" / "report.md").code in (20, 30)
    full.healthy()


def test_what_an_earlier_export_left_is_named(full: Door, key: Path) -> None:
    """A report or a decision that says PROMOTE is no part of an export that says BLOCK."""
    out = full.root / "out"
    of_another = "is of another report, left by an earlier export: delete it"
    assert of_another not in export(full, V8, out, "--sign", key).err
    again = export(full, V8, out, "--format", "json", "--sign", key)
    assert of_another not in again.err, "the same report"
    other = export(full, V7, out, "--format", "json,md")
    left = {line.partition(" ")[0] for line in other.err.splitlines() if of_another in line}
    assert left == {str(out / name) for name in ("report.html", "junit.xml", "decision.dsse.json")}
    signed = export(full, V7, out, "--sign", key)
    assert of_another not in signed.err, "each file was written again"


def test_decisions_are_numbered_and_each_kept(full: Door, key: Path) -> None:
    full.ok("sign", *release(V8), "--key", key)
    full.run("sign", *release(V7), "--key", key)
    full.ok("sign", *release(V8), "--key", key)
    assert full.rows("SELECT number, candidate_id, decision FROM decisions ORDER BY number") == [
        (1, V8, "PROMOTE"), (2, V7, "BLOCK"), (3, V8, "PROMOTE"),
    ]  # fmt: skip
    full.healthy()


def test_the_author_of_a_candidate_may_not_approve_it(full: Door) -> None:
    """The file is kept for others to sign, but it is no promotion, and no command says it is."""
    manifest = json.loads((full.suite / "candidates" / f"{V8}.json").read_bytes())
    author = manifest["authors"][0]
    mail = author.partition("<")[2].rstrip(">") or author
    made = make_key(full.root, "author")
    full.ok("keys", "trust", mail, made.with_suffix(".pub"))
    said = full.run("sign", *release(V8), "--key", made)
    assert said.code in (20, 30), said
    again = export(full, V8, full.root / "out", "--sign", made)
    assert again.code in (20, 30), again


def test_a_signature_is_refused_when_the_store_was_changed_by_hand(full: Door, key: Path) -> None:
    """Failing attempts of v7 turned into passes with a plain sqlite3, counts and all."""
    with contextlib.closing(sqlite3.connect(full.store)) as base, base:
        base.execute("UPDATE trace SET gates=0, passed=1, critical=0")
        base.execute("DELETE FROM finding")
        base.execute("UPDATE roll SET passes=attempts, critical=0, measured=attempts")
        base.execute("DELETE FROM gate_count")
    said = full.run("sign", *release(V7), "--key", key, "--decision", "PROMOTE")
    assert said.code == 20, said
    assert not list((full.root / "store" / "decisions").glob("*.json"))
    assert full.run("doctor").code == 20


@pytest.mark.parametrize(
    "manifest", [b"", b"{", b"[]", b'{"candidate_id": 5}', b'{"candidate_id": "refund-agent-v8"}']
)
def test_a_broken_manifest_is_said_and_never_signed(full: Door, key: Path, manifest: bytes) -> None:
    (full.suite / "candidates" / f"{V8}.json").write_bytes(manifest)
    said = full.run("sign", *release(V8), "--key", key)
    assert said.code in (10, 20), said
    assert "internal" not in said.err
    assert full.one("SELECT count(*) FROM decision") == 0


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_keys_made_by_ssh_keygen_sign(full: Door) -> None:
    path = full.root / "made"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    full.ok("keys", "trust", "sam@example.com", f"{path}.pub")
    assert full.run("sign", *release(V8), "--key", path).code == 0
