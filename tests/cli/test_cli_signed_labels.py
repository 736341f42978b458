"""Labels in the repository: written and signed by their rater, taken in where they are needed, and
limits on them that promote only with evidence."""

import hashlib
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from doors import SUITE, V7, V8, Door, copied
from labelers import drafted, label_all, labeler, soon
from msgspec import structs
from people import key_file

from reviewer.desk.labels.api import LabelItem
from reviewer.review.labels import Label, label_line, seal, stored_label

WANTS = "refund-labels"


def wanting(door: Door, **labels: Any) -> Door:
    """The workspace with a suite of this policy on labels, and v7 and v8 imported."""
    suite = door.suite / "suite.json"
    body = json.loads(suite.read_bytes())
    body["policy"]["labels"] = labels
    before = suite.read_bytes()
    suite.write_text(json.dumps(body))
    door.ok("suite", "freeze", SUITE, "--as", WANTS)
    suite.write_bytes(before)
    door.ok("import", door.suite / "traces", "--suite", WANTS)
    return door


def rater(door: Door, name: str = "dana", roles: str = "labeler") -> Path:
    key = key_file(door.root, name)
    door.ok("keys", "trust", name, key.with_suffix(".pub"), "--roles", roles)
    return key


def label(door: Door, choose: Callable[[LabelItem], str], name: str = "dana") -> None:
    with labeler(door, name) as desk:
        label_all(desk, desk.labels.session(WANTS, V8), choose)


def report(door: Door, *more: object) -> tuple[str, dict[str, Any]]:
    out = door.root / "out"
    shutil.rmtree(out, ignore_errors=True)
    said = door.run("--export-report", out, "--suite", WANTS, "--candidate", V8, *more)
    assert said.code in (0, 10), said
    written = json.loads((out / "report.json").read_bytes())
    return written["recommendation"], written


def reasons(written: dict[str, Any]) -> str:
    return " | ".join(f"{one['text']}: {one['observed']}" for one in written["reason_details"])


def filed(door: Door) -> list[Path]:
    return sorted((door.root / "store" / "labels").glob("*.jsonl"))


def pipeline(door: Door, tmp_path: Path) -> Door:
    """The checkout of a pipeline: suites, traces, the trust file and signed labels, no store."""
    there = tmp_path / f"ci-{len(list(tmp_path.glob('ci-*')))}"
    (there / "store").mkdir(parents=True)
    shutil.copytree(door.root / "suites", there / "suites")
    for name in ("signers", "labels", "decisions"):
        source = door.root / "store" / name
        if source.is_dir():
            shutil.copytree(source, there / "store" / name)
        elif source.exists():
            shutil.copy(source, there / "store" / name)
    checkout = Door(there)
    time.sleep(1.1)  # a journal is known by its first entry, which has the second it was written in
    checkout.ok("import", there / "suites" / SUITE / "traces", "--suite", WANTS)
    return checkout


# limits -------------------------------------------------------------------------------------------


def test_flipped_pairs_promote_only_where_no_policy_limits_them(door: Door) -> None:
    wanting(door, min_pairs=4)
    label(door, lambda item: "left")  # the other message in the other order
    assert report(door)[0] == "promote"


@pytest.mark.parametrize(
    ("limits", "answer", "word", "said"),
    [
        ({"wins_or_ties_min": 0.5}, "left", "hold", "wins or ties: 0 to 4 of 4"),
        ({"self_consistency_min": 0.8}, "left", "hold", "dana 0 of 4"),
        ({"both_bad_max": 0.5}, "both_bad", "repair", "both messages bad too often: 4 of 4"),
        ({"wins_or_ties_min": 0.5}, "both_bad", "repair", f"below policy: {V7}: 0 of 4"),
        ({"agreement_min": 0.8}, "tie", "hold", "labels: items labeled by two reviewers"),
        ({"min_messages": 3}, "tie", "hold", "0 of 3 messages"),
        (
            {"criteria": {"accurate": {"passes": [1], "min": 0.9}}},
            "tie", "hold", "rubric: accurate: not measured",
        ),
        ({"wins_or_ties_min": 0.5}, "tie", "promote", ""),
        ({"both_bad_max": 0.5, "self_consistency_min": 0.8}, "tie", "promote", ""),
    ],
)  # fmt: skip
def test_each_limit_is_held_against_what_people_said(
    door: Door, limits: dict[str, Any], answer: str, word: str, said: str
) -> None:
    wanting(door, min_pairs=4, **limits)
    label(door, lambda item: answer)
    found, written = report(door)
    assert found == word, reasons(written)
    assert said in reasons(written) + str(written["needs"])
    with labeler(door) as desk:  # a list says the same as the report
        assert desk.reports.build(WANTS, V8).assessment.recommendation == word


def test_marks_are_counted_by_the_levels_that_pass(door: Door) -> None:
    wanting(door, criteria={"accurate": {"passes": [1], "min": 0.9}}, min_messages=1)
    for level, word in ((2, "repair"), (1, "promote")):
        with labeler(door) as desk:
            session = desk.labels.session(WANTS, V8, kind="message")
            item = desk.labels.next_item(session)
            while item is not None:
                marks = {c.criterion_id: c.levels[0][0] for c in item.criteria}
                desk.labels.record(session, drafted(item, marks={**marks, "accurate": level}))
                item = desk.labels.next_item(session)
        assert report(door)[0] == word
        if word == "repair":  # the same messages again, by the same person
            with labeler(door) as desk:
                session = desk.labels.session(WANTS, V8, kind="message")
                while desk.labels.queue(WANTS, V8, kind="message").done:
                    desk.labels.undo(session)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"criteria": {"nice": {"passes": [1], "min": 0.5}}}, "is not a criterion of rubric.json"),
        ({"criteria": {"accurate": {"passes": [3], "min": 0.5}}}, "the levels are 1 to 2"),
        ({"criteria": {"accurate": {"passes": [1, 2], "min": 0.5}}}, "nothing could fail it"),
        ({"wins_or_ties_min": 1.5}, "wins_or_ties_min"),
        ({"wins_or_ties": 0.5}, "wins_or_ties_min"),
        ({"judge_stands_in": True}, "has no effect"),
    ],
)
def test_a_limit_that_nothing_could_meet_or_miss_is_refused(
    door: Door, labels: dict[str, Any], said: str
) -> None:
    suite = door.suite / "suite.json"
    body = json.loads(suite.read_bytes())
    body["policy"]["labels"] = labels
    suite.write_text(json.dumps(body))
    found = door.run("suite", "freeze", SUITE, "--as", WANTS)
    assert found.code != 0
    assert said in found.both


# the repository -----------------------------------------------------------------------------------


def test_a_pipeline_promotes_with_the_labels_of_the_repository(door: Door, tmp_path: Path) -> None:
    wanting(door, min_pairs=4, wins_or_ties_min=0.75, signed=True)
    key = rater(door)
    label(door, lambda item: "tie")
    held, written = report(door)
    assert held == "hold"
    assert "8 labels not signed" in reasons(written)
    assert report(pipeline(door, tmp_path))[0] == "hold"
    said = door.ok("labels", "sign", "--key", key)
    assert "8 labels on refund-labels" in said.err
    [file] = filed(door)
    assert report(door)[0] == "promote"
    assert "nothing to sign" in door.ok("labels", "sign", "--key", key).err
    there = pipeline(door, tmp_path)
    assert report(there)[0] == "hold"  # nothing is taken in unasked
    taken = json.loads(there.ok("labels", "take", "--json").out)
    assert taken == [
        {
            "file": file.name, "signer": "dana", "added": 8, "known": 0, "refused": 0,
            "problems": [],
        }
    ]  # fmt: skip
    found, written = report(there)
    assert found == "promote", reasons(written)
    assert "8 already there" in there.ok("labels", "take").err


def test_ssh_keygen_verifies_what_was_signed(door: Door) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    wanting(door, min_pairs=4)
    key = rater(door)
    label(door, lambda item: "tie")
    door.ok("labels", "sign", "--key", key)
    [file] = filed(door)
    allowed = door.root / "allowed"
    allowed.write_text(f"dana {key.with_suffix('.pub').read_text()}")
    purpose = "agent-release-labels@reviewer.dev"
    command = ["ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "dana", "-n", purpose, "-s"]
    for data, code in ((file.read_bytes(), 0), (file.read_bytes() + b"\n", 255)):
        done = subprocess.run(
            [*command, f"{file}.sig"], input=data, capture_output=True, check=False
        )
        assert done.returncode == code, done


def tampered(file: Path, _: Door) -> None:
    file.write_bytes(file.read_bytes().replace(b'"answer":"tie"', b'"answer":"left"'))


def renamed(file: Path, _: Door) -> None:
    """Edited, and named after its new content."""
    tampered(file, _)
    to = file.with_name(hashlib.sha256(file.read_bytes()).hexdigest() + ".jsonl")
    file.rename(to)
    file.with_name(f"{file.name}.sig").rename(to.with_name(f"{to.name}.sig"))


def unsigned(file: Path, _: Door) -> None:
    file.with_name(f"{file.name}.sig").unlink()


def nonsense(file: Path, _: Door) -> None:
    file.with_name(f"{file.name}.sig").write_text("nonsense")


def unknown(_: Path, door: Door) -> None:
    signers = door.root / "store" / "signers"
    signers.write_text("".join(
        line for line in signers.read_text().splitlines(True) if not line.startswith("dana")
    ))  # fmt: skip


def demoted(_: Path, door: Door) -> None:
    signers = door.root / "store" / "signers"
    signers.write_text(signers.read_text().replace("dana labeler", "dana runner"))


def linked(file: Path, door: Door) -> None:
    other = door.root / "elsewhere"
    file.rename(other)
    file.symlink_to(other)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (tampered, "it was changed or renamed"),
        (renamed, "does not match its content"),
        (unsigned, "not signed"),
        (nonsense, "not a signature of ssh-keygen"),
        (unknown, "a key that store/signers does not name"),
        (demoted, "who has no labeler role"),
        (linked, "cannot be read"),
    ],
)
def test_a_file_that_does_not_count_is_named_and_costs_that_file_alone(
    door: Door, tmp_path: Path, harm: Callable[[Path, Door], None], said: str
) -> None:
    wanting(door, min_pairs=4, signed=True)
    label(door, lambda item: "tie")
    door.ok("labels", "sign", "--key", rater(door))
    [danas] = filed(door)
    label(door, lambda item: "tie", "kim")
    door.ok("labels", "sign", "--key", rater(door, "kim"))
    kims = next(file for file in filed(door) if file != danas)
    there = pipeline(door, tmp_path)
    harm(there.root / "store" / "labels" / danas.name, there)
    found = there.run("labels", "take")
    assert found.code == 20
    assert said in found.err
    assert "way out: " in found.err
    assert f"{kims.name}, signed by kim: 8 labels added" in found.err
    recommended, written = report(there)
    assert recommended == "promote"  # kim's labels are enough
    assert written["review"]["reviewers"] == ["kim"]
    (there.root / "store" / "labels" / kims.name).unlink()
    assert report(there)[0] == "hold"


def test_nobody_signs_another_persons_word(door: Door, tmp_path: Path) -> None:
    wanting(door, min_pairs=4, signed=True)
    label(door, lambda item: "tie", "kim")
    key = rater(door)
    said = door.run("labels", "sign", "--key", key)
    assert said.code == 2
    assert "no labels by dana" in said.err
    # A file of kim's labels, signed by dana all the same.
    from reviewer.signing.keys import load_signer, sign_for
    from reviewer.signing.label_files import file_name
    from reviewer.signing.ssh import LABELS_NAMESPACE, armored

    target = door.root / "kims.jsonl"
    door.ok("labels", "export", target)
    data = target.read_bytes()
    folder = door.root / "store" / "labels"
    folder.mkdir()
    (folder / file_name(data)).write_bytes(data)
    blob = sign_for(load_signer(str(key)), LABELS_NAMESPACE, data)
    (folder / f"{file_name(data)}.sig").write_text(armored(blob))
    there = pipeline(door, tmp_path)
    found = there.run("labels", "take")
    assert found.code == 20
    assert "people sign only their own labels" in found.err
    assert report(there)[0] == "hold"
    assert report(door)[0] == "hold"


def test_a_signature_for_a_decision_is_none_for_labels(door: Door) -> None:
    from reviewer.signing.keys import load_signer, sign_for
    from reviewer.signing.ssh import NAMESPACE, armored

    wanting(door, min_pairs=4)
    key = rater(door)
    label(door, lambda item: "tie")
    door.ok("labels", "sign", "--key", key)
    [file] = filed(door)
    blob = sign_for(load_signer(str(key)), NAMESPACE, file.read_bytes())
    file.with_name(f"{file.name}.sig").write_text(armored(blob))
    assert "made for another purpose" in door.run("labels", "take").err


def test_a_deleted_file_is_missed_by_the_journal_and_by_the_decision(
    door: Door, tmp_path: Path
) -> None:
    wanting(door, min_pairs=4)
    label(door, lambda item: "tie")
    door.ok("labels", "sign", "--key", rater(door))
    boss = rater(door, "boss", "approver")
    door.ok("sign", "--suite", WANTS, "--candidate", V8, "--key", boss)
    [file] = filed(door)
    there = pipeline(door, tmp_path)
    there.ok("labels", "take")
    assert report(there)[0] == "promote"
    store, suite = there.root / "store", there.root / "suites" / WANTS
    asked = (
        "verify", store / "decisions", "--candidate-manifest", suite / "candidates" / f"{V8}.json",
        "--signers", store / "signers", "--labels", store / "labels",
    )  # fmt: skip
    there.ok(*asked)
    signature = store / "labels" / f"{file.name}.sig"
    kept = signature.read_bytes()
    signature.unlink()
    assert "not signed" in there.run(*asked).out
    signature.write_bytes(kept)
    file_there = store / "labels" / file.name
    data = file_there.read_bytes()
    file_there.unlink()
    found = there.run(*asked)
    assert (found.code, f"{file.name}, which the decision names, is missing" in found.out) == (
        30, True,
    )  # fmt: skip
    assert there.run(*asked[:-2]).code == 0
    file_there.write_bytes(data)
    for one, who in ((door, "decision 1"), (there, "decision 1")):
        (one.root / "store" / "labels" / file.name).unlink()
        recommended, written = report(one)
        assert recommended == "hold"
        assert file.name in reasons(written)
        assert who in reasons(written)
    assert f"{file.name} is missing" in door.run("doctor").out


def test_a_merge_of_two_peoples_work_is_signed_by_each(door: Door, tmp_path: Path) -> None:
    wanting(door, min_pairs=4, agreement_min=1.0, signed=True)
    kim = copied(door.root, tmp_path / "kim")
    label(door, lambda item: "tie")
    label(kim, lambda item: "tie", "kim")
    door.ok("labels", "sign", "--key", rater(door))
    kim.ok("labels", "sign", "--key", rater(kim, "kim"))
    for file in (kim.root / "store" / "labels").iterdir():
        shutil.copy(file, door.root / "store" / "labels" / file.name)
    signers = door.root / "store" / "signers"
    line = next(x for x in (kim.root / "store" / "signers").read_text().splitlines() if "kim" in x)
    signers.write_text(f"{signers.read_text()}{line}\n")
    there = pipeline(door, tmp_path)
    there.ok("labels", "take")
    found, written = report(there)
    assert found == "promote", reasons(written)
    assert written["review"]["limits"]["agreement"]["winner"]["hits"] == 4


def test_the_queue_waits_for_signatures_where_the_policy_does(door: Door) -> None:
    wanting(door, min_pairs=1, signed=True)
    key = rater(door)
    with labeler(door) as desk:
        label_all(desk, desk.labels.session(WANTS, V7, V8))
        before = desk.labels.queue(WANTS, V7, V8)
        assert before.high
        assert (before.open_high, before.open_left) == (before.high, 0)
        assert before.unsigned == before.done
        assert f"a signature on {before.unsigned} labels" in before.needed
        door.ok("labels", "sign", "--suite", WANTS, "--key", key)
        after = desk.labels.queue(WANTS, V7, V8)
        assert (after.open_high, after.unsigned) == (0, 0)
        assert "signature" not in after.needed


# what a label says, and who says it ---------------------------------------------------------------


def stored(door: Door) -> list[Label]:
    return [stored_label(row[0]) for row in door.rows("SELECT body FROM label ORDER BY id")]


def taken_in(door: Door, labels: Iterable[Label]) -> None:
    """Import labels that somebody wrote by hand."""
    file = door.root / "by-hand.jsonl"
    file.write_bytes(b"".join(map(label_line, labels)))
    door.ok("labels", "import", file)


def rewritten(one: Label, **changes: Any) -> Label:
    return seal(structs.replace(one, uid="", **changes))


def test_a_signed_label_that_its_rater_took_back_does_not_promote(door: Door) -> None:
    wanting(door, min_pairs=4, wins_or_ties_min=0.75, signed=True)
    key = rater(door)
    label(door, lambda item: "tie")
    door.ok("labels", "sign", "--key", key)
    assert report(door)[0] == "promote"
    with labeler(door) as desk:
        session = desk.labels.session(WANTS, V8)
        while desk.labels.queue(WANTS, V8).done:
            desk.labels.undo(session)
    held, written = report(door)
    assert held == "hold"
    assert "8 signed labels changed or taken back" in reasons(written)
    door.ok("labels", "sign", "--key", key)
    held, written = report(door)
    assert (held, written["review"]["pairs_labelled"]) == ("hold", 0)
    assert "changed or taken back" not in reasons(written)


def test_a_revision_without_a_signature_takes_no_lost_pair_out_of_the_count(door: Door) -> None:
    wanting(door, min_pairs=2, wins_or_ties_min=0.75, signed=True)
    key, losing = rater(door), dict[str, None]()

    def choose(item: LabelItem) -> str:
        losing.setdefault(item.item)
        return "both_bad" if item.item in list(losing)[:2] else "tie"

    label(door, choose)
    door.ok("labels", "sign", "--key", key)
    assert report(door)[0] == "repair"
    lost = [one for one in stored(door) if one.answer == "both_bad"]
    gone = {"answer": None, "withdrawn": True, "decided": {}, "at": soon()}
    taken_in(door, (rewritten(one, revises=one.uid, **gone) for one in lost))
    assert report(door)[0] == "repair"


def test_two_spellings_of_a_name_are_not_two_reviewers(door: Door) -> None:
    wanting(door, min_pairs=4, agreement_min=0.8)
    label(door, lambda item: "tie")
    label(door, lambda item: "tie", "Dana")
    held, written = report(door)
    assert held == "hold"
    assert "labels: items labeled by two reviewers" in str(written["needs"])
    assert written["review"]["reviewers"] == ["dana"]
    label(door, lambda item: "tie", "kim")
    assert report(door)[0] == "promote"


@pytest.mark.parametrize("who", ["dana", "Kim", "lee"])
def test_one_adjudicator_does_not_outvote_raters_who_agree(door: Door, who: str) -> None:
    wanting(door, min_pairs=4, wins_or_ties_min=0.75)
    label(door, lambda item: "both_bad")
    label(door, lambda item: "both_bad", "kim")
    before = stored(door)
    later = {"role": "adjudicator", "answer": "tie", "at": soon()}
    taken_in(door, (rewritten(one, reviewer=who, **later) for one in before))
    assert report(door)[0] == "repair"


def test_a_signed_label_is_of_the_traces_that_were_signed(door: Door, tmp_path: Path) -> None:
    wanting(door, min_pairs=4, wins_or_ties_min=0.75, signed=True)
    key = rater(door)
    label(door, lambda item: "tie")
    door.ok("labels", "sign", "--key", key)
    there = pipeline(door, tmp_path)
    # The same labels, said to be of another candidate's messages, are there before.
    other = [
        structs.replace(one, traces=tuple(t.replace(V7, "weak") for t in one.traces))
        for one in stored(door)
    ]
    taken_in(there, other)
    there.ok("labels", "take")
    assert report(there, "--baseline", V7)[0] == "promote"
