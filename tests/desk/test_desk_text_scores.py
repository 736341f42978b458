"""Final messages beside references and phrases in the report: measured, shown, and never gating."""

import json
import re
import struct
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from doors import Door

SUITE = "texts-v1"
REFERENCE = "The label was sent. No refund was made."
SAID = {
    1: "The label was sent. No refund was made.",
    2: "the LABEL was sent, and no refund was made",
    3: "We cannot send a label; there was no refund.",
    4: None,
}


def episode(episode_id: str, **expected: Any) -> dict[str, Any]:
    return {
        "schema": "reviewer/episode@1",
        "episode_id": episode_id,
        "expected": {"final_state": "done", **expected},
    }


def record(episode_id: str, attempt: int, message: str | None) -> dict[str, Any]:
    return {
        "episode_id": episode_id,
        "candidate_id": "agent-v1",
        "attempt": attempt,
        "events": [{"tool": "look", "arguments": {"n": attempt}}],
        "final_state": "done",
        "final_message": message,
        "cost_usd": 0.01,
        "latency_ms": 100 + attempt,
    }


@pytest.fixture
def texts(door: Door) -> Door:
    """Two episodes: one with a reference, one that asks for two phrases."""
    folder = door.root / "suites" / SUITE
    (folder / "episodes").mkdir(parents=True)
    policy = {"attempts": 4, "pass_hat": {"k": 1}}
    suite = {"schema": "reviewer/suite@1", "suite_id": SUITE, "policy": policy}
    (folder / "suite.json").write_text(json.dumps(suite))
    for one in (
        episode("answers", message_reference=REFERENCE),
        episode("phrases", message_contains=["label", "refund"]),
    ):
        (folder / "episodes" / f"{one['episode_id']}.json").write_text(json.dumps(one))
    door.ok("suite", "freeze", SUITE)
    said = [record("answers", n, text) for n, text in SAID.items()]
    said += [record("phrases", n, text) for n, text in SAID.items()]
    door.take("said.jsonl", said, "--suite", SUITE)
    return door


def exported(door: Door, *options: object) -> tuple[dict[str, Any], str]:
    out = door.root / "out"
    said = door.run("--export-report", out, "--suite", SUITE, "--candidate", "agent-v1", *options)
    assert said.code in (0, 10), said
    text = (out / "report.md").read_text(encoding="utf-8")
    return json.loads((out / "report.json").read_bytes()), text.replace("\\", "")


def test_messages_are_compared_with_the_reference_of_their_episode(texts: Door) -> None:
    report, markdown = exported(texts)
    found = report["diagnostics"]
    assert found["text_exact"] == {"mean": 0.25, "n": 4, "role": "diagnostic only", "why": None}
    assert 0.25 < found["text_indel"]["mean"] < 1
    # of seven words without articles: all, all and one more ("and"), four among eight, none
    assert found["text_token_f1"]["mean"] == pytest.approx((1 + 14 / 15 + 8 / 15 + 0) / 4)
    assert "text_exact" in markdown
    assert "diagnostic only, no gate reads them" in markdown


def test_phrases_that_are_denied_are_not_found(texts: Door) -> None:
    report, markdown = exported(texts)
    phrases = {one["phrase"]: one for one in report["diagnostics"]["text_phrases"]["phrases"]}
    assert phrases["label"] == {
        "episode_id": "phrases", "phrase": "label",
        "found": 2, "negated": 1, "absent": 1, "unknown": 0,
    }  # fmt: skip
    assert (phrases["refund"]["found"], phrases["refund"]["negated"]) == (0, 3)
    assert report["diagnostics"]["text_phrases"]["mean"] == 0.25
    assert "“label” said in 2, denied in 1, absent from 1 messages" in markdown


def test_no_likeness_and_no_phrase_is_a_gate(texts: Door) -> None:
    """The gate of a wanted phrase looks for the text alone, and a reference is never required."""
    gates = exported(texts)[0]["gates"]
    assert gates["state"]["fail"] == 1  # the message that is not there
    card = json.loads(texts.desk().reports.build(SUITE, "agent-v1").raw)
    assert {one["trace_id"] for one in card["failures"]} == {f"{SUITE}/agent-v1/phrases/4"}


def test_a_reference_alone_is_no_contract(door: Door) -> None:
    folder = door.root / "suites" / "empty-v1"
    (folder / "episodes").mkdir(parents=True)
    suite = {"schema": "reviewer/suite@1", "suite_id": "empty-v1"}
    (folder / "suite.json").write_text(json.dumps(suite))
    one = {"schema": "reviewer/episode@1", "episode_id": "e"}
    one["expected"] = {"message_reference": "Good."}  # type: ignore[assignment]
    (folder / "episodes" / "e.json").write_text(json.dumps(one))
    said = door.run("suite", "check", "empty-v1")
    assert said.code == 20
    assert "any trace passes" in said.both


def test_a_suite_without_texts_says_so_once(full: Door) -> None:
    report = json.loads(full.desk().reports.build("refund-eval-v5", "refund-agent-v8").raw)
    assert report["diagnostics"]["text_exact"]["mean"] is None
    lines = [line for line in report["not_measured"] if line.startswith("diagnostics.text")]
    assert lines == ["diagnostics.text: no episode names a reference message or a wanted phrase"]


# embeddings ---------------------------------------------------------------------------------------

WORDS = {"label": [1.0, 0.0], "sent": [1.0, 0.0], "refund": [0.0, 1.0]}
LIKENESS = round((1 + 1 + 3 / 10**0.5) / 3, 3)
"""Of (2, 1), the reference: two messages say the same words, the third is (1, 1), none the last."""


class Spy:
    """A stand-in for the library: the mean of the vectors of known words."""

    opened: list[Path]

    @classmethod
    def from_pretrained(cls, folder: Path) -> "Spy":
        if (folder / "config.json").read_bytes() == b"broken":
            raise RuntimeError("HeaderTooLarge")
        cls.opened.append(folder)
        return cls()

    def encode(self, texts: list[str], max_length: int | None) -> list[list[float]]:
        assert max_length is None
        rows = []
        for text in texts:
            known = [WORDS[w] for w in re.findall(r"\w+", text.lower()) if w in WORDS]
            rows.append([sum(v[i] for v in known) for i in (0, 1)])
        return rows


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> type[Spy]:
    module = ModuleType("model2vec")
    module.StaticModel = Spy  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "model2vec", module)
    Spy.opened = []
    return Spy


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny-model"
    folder.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (folder / name).write_text(name)
    return folder


def embedding(report: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = report["diagnostics"]["text_embedding"]
    return found


def test_likeness_by_a_model_of_this_machine(texts: Door, library: type[Spy], model: Path) -> None:
    report, markdown = exported(texts, "--embedding-model", model)
    found = embedding(report)
    assert (found["n"], found["model"]) == (3, "tiny-model")
    assert found["mean"] == pytest.approx(LIKENESS, abs=1e-3)
    assert len(found["model_sha256"]) == 64
    assert library.opened == [model]
    assert "--embedding-model tiny-model" in report["reproduce"]["commands"][0]
    assert "text_embedding" in markdown
    assert exported(texts, "--embedding-model", model)[0] == report


def test_another_model_is_another_digest(texts: Door, library: type[Spy], model: Path) -> None:
    first = embedding(exported(texts, "--embedding-model", model)[0])["model_sha256"]
    (model / "model.safetensors").write_text("other")
    assert embedding(exported(texts, "--embedding-model", model)[0])["model_sha256"] != first


def test_without_the_extra_it_is_not_measured_and_the_way_out_is_said(
    texts: Door, monkeypatch: pytest.MonkeyPatch, model: Path
) -> None:
    monkeypatch.setitem(sys.modules, "model2vec", None)
    report, markdown = exported(texts, "--embedding-model", model)
    found = embedding(report)
    assert (found["mean"], found["n"], found["model"]) == (None, 0, None)
    assert found["why"] == "the extra is not installed: pip install release-reviewer[embeddings]"
    assert f"diagnostics.text_embedding: {found['why']}" in report["not_measured"]
    assert "not measured: the extra is not installed" in markdown


def test_without_a_model_the_library_is_left_alone(texts: Door, library: type[Spy]) -> None:
    why = embedding(exported(texts)[0])["why"]
    assert "--embedding-model DIR" in why
    assert "release-reviewer[embeddings]" in why
    assert library.opened == []


def test_a_folder_without_a_model_is_a_usage_error_and_nothing_is_fetched(
    texts: Door, library: type[Spy], model: Path
) -> None:
    (model / "tokenizer.json").unlink()
    for folder in (model, "minishlab/potion-base-8M"):
        said = texts.run(
            "--export-report", texts.root / "out", "--suite", SUITE,
            "--candidate", "agent-v1", "--embedding-model", folder,
        )  # fmt: skip
        assert said.code == 2
        assert "no static model is in this folder" in said.err
    assert library.opened == []


def test_a_damaged_model_is_named(texts: Door, library: type[Spy], model: Path) -> None:
    (model / "config.json").write_bytes(b"broken")
    said = texts.run(
        "--export-report", texts.root / "out", "--suite", SUITE, "--candidate", "agent-v1",
        "--embedding-model", model,
    )  # fmt: skip
    assert said.code == 20
    assert "cannot be read as a static model (RuntimeError)" in said.err


def test_the_library_itself_reads_a_tiny_model(texts: Door, tmp_path: Path) -> None:
    pytest.importorskip("model2vec")
    folder = tmp_path / "real"
    folder.mkdir()
    vocabulary = {"[UNK]": 0, **{word: n for n, word in enumerate(WORDS, 1)}}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "config.json").write_text("{}")
    rows = [[0.0, 0.0], *WORDS.values()]
    data = b"".join(struct.pack("<2f", *row) for row in rows)
    header = json.dumps(
        {"embeddings": {"dtype": "F32", "shape": [4, 2], "data_offsets": [0, len(data)]}}
    ).encode()
    packed = struct.pack("<Q", len(header)) + header + data
    (folder / "model.safetensors").write_bytes(packed)
    report, _ = exported(texts, "--embedding-model", folder)
    found = embedding(report)
    assert (found["n"], found["model"]) == (3, "real")
    assert found["mean"] == pytest.approx(LIKENESS, abs=1e-3)
