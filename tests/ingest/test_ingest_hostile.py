"""Files that mean harm, or are merely not what they are called: each costs itself, with a line."""

import contextlib
import gzip
import io
import json
import os
import pickle
import subprocess
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard
from doors import PROGRAM, Door, environment, lines, many, passing

from reviewer.importing import processes
from reviewer.importing.archive import Archive, EntryProblem
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.head import Head, first_value, whole_extent
from reviewer.importing.pipeline.opening import opened
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.walking import EACH, walk

EXCERPT = Path(__file__).resolve().parents[1] / "data/tau_bench/gpt-4o-airline-excerpt.json"


def excerpt() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(EXCERPT.read_bytes())
    return found


# what a file is ----------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize("name", ["run.json", "run.gz", "run.dat"])
def test_compressed_files_are_read_whatever_they_are_called(
    door: Door, pack: Any, name: str
) -> None:
    said = door.take(name, pack(EXCERPT.read_bytes()))
    assert said.code == 0, said
    assert door.one("SELECT count(*) FROM trace") == 8


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_a_large_packed_file_is_not_cut_as_it_is(
    door: Door, pack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "WORTH", 0)
    monkeypatch.setattr(processes, "workers", lambda: 2)
    said = door.take("t.jsonl.gz", pack(lines(many(30))))
    assert said.code == 0, said
    assert door.one("SELECT count(*) FROM trace") == 30


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "git lfs pull"),
        (pickle.dumps({"a": 1}), "pickle"),
        (gzip.compress(EXCERPT.read_bytes())[:400], "broken"),
        (zstandard.compress(EXCERPT.read_bytes())[:400], "bad.json"),
        (b"PK\x03\x04 and nothing else", "unpack it"),
        ("[1]".encode("utf-16"), "UTF-16"),
        (b"", "empty"),
        (b"\x89PNG\r\n", "not JSON"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_rest_goes_on(
    door: Door, content: bytes, words: str
) -> None:
    bad = door.file("bad.json", content)
    said = door.run("import", bad, EXCERPT)
    assert said.code == 20
    assert "bad.json" in said.err
    assert words in said.err
    assert door.one("SELECT count(*) FROM trace") == 8


def test_nothing_in_a_pickle_runs(door: Door, tmp_path: Path) -> None:
    proof = tmp_path / "ran"

    class Evil:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {proof}",)

    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "results.json").write_bytes(pickle.dumps(Evil()))
    (folder / "step_0.pkl.gz").write_bytes(gzip.compress(pickle.dumps(Evil())))
    (folder / "tau.json").write_bytes(EXCERPT.read_bytes())
    said = door.run("import", folder)
    assert said.code == 20
    assert "pickle" in said.err
    assert door.one("SELECT count(*) FROM trace") == 8
    assert not proof.exists()


def test_json_lines_in_a_json_file_with_a_bom_and_bare_nan(door: Door) -> None:
    records = excerpt()[:2]
    records[0]["info"]["user_cost"] = float("nan")
    text = "\ufeff" + "\n".join(json.dumps(record) for record in records)
    said = door.take("lines.json", text.encode())
    assert said.code == 0, said
    assert door.one("SELECT count(*) FROM trace") == 2


def test_a_folder_gives_its_traces_and_passes_over_the_rest(door: Door, tmp_path: Path) -> None:
    folder = tmp_path / "jobs" / "one"
    folder.mkdir(parents=True)
    (folder / "tau.json").write_bytes(EXCERPT.read_bytes())
    (folder / "config.json").write_text('{"model": "x", "temperature": 0}')
    (folder / "shot.png").write_bytes(b"\x89PNG\r\n")
    (folder / "log.txt").write_text("hello")
    said = door.run("import", tmp_path / "jobs")
    assert said.code == 0, said
    assert "3 other files" in said.err
    assert door.one("SELECT count(*) FROM trace") == 8


def test_a_link_out_of_the_folder_is_not_followed(door: Door, tmp_path: Path) -> None:
    outside, folder = tmp_path / "secret.json", tmp_path / "in"
    outside.write_bytes(EXCERPT.read_bytes())
    folder.mkdir()
    (folder / "link.json").symlink_to(outside)
    os.mkfifo(folder / "pipe.json")
    said = door.run("import", folder)
    assert said.code == 20
    assert "symbolic link" in said.err
    assert "not a regular file" in said.err
    assert not door.store.exists() or door.one("SELECT count(*) FROM trace") == 0


def test_standard_input_is_a_file_too(door: Door) -> None:
    done = subprocess.run(
        [*PROGRAM, "--workspace", str(door.root), "import", "-"],
        input=lines([passing("damaged-221")]),
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done
    assert door.one("SELECT count(*) FROM trace") == 1
    assert door.one("SELECT path FROM source") == "(standard input)"


def test_a_pattern_that_no_shell_expanded(door: Door, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"run-{name}.json").write_bytes(EXCERPT.read_bytes())
    said = door.run("import", tmp_path / "run-*.json", "--candidate", "cand")
    assert said.code == 0, said
    assert door.one("SELECT count(*) FROM source") == 1  # one content, said to be known


def test_what_stands_before_the_unreadable_is_kept(door: Door) -> None:
    """However few records there are before the place where reading ends."""
    good = json.dumps(passing("damaged-221"))
    deep = "[" * 70 + "]" * 70
    said = door.take("deep.json", f"[{good},\n{deep},\n{good}]".encode())
    assert said.code == 20
    assert "record 2" in said.err
    assert door.one("SELECT count(*) FROM trace") == 1


def test_a_cut_archive_is_refused_behind_what_it_still_has(door: Door) -> None:
    whole = (EXCERPT.parents[1] / "inspect/refund_zstd.eval").read_bytes()
    said = door.take("cut.eval", whole[: len(whole) * 6 // 10])
    assert said.code == 20
    assert "cut off" in said.err
    assert door.one("SELECT count(*) FROM trace") == 3
    assert door.one("SELECT count(*) FROM quarantine") == 1


# bombs -------------------------------------------------------------------------------------------


def test_a_gzip_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"[" + b" " * (80 << 20), 9))
    with pytest.raises(Unreadable, match="bomb"), opened(path) as handle:
        handle.read(1)


def zipped(path: Path, method: int = zipfile.ZIP_DEFLATED, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in entries.items():
            archive.writestr(name.replace("__", "/"), data)
    return path


def test_a_zip_bomb_is_refused_and_other_entries_are_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "b.zip", good=b"fine", bomb=b"\0" * (100 << 20))
    with Archive(path) as archive:
        assert archive.read("good") == b"fine"
        with pytest.raises(EntryProblem, match="too_large"):
            archive.read("bomb")


def test_an_entry_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "l.zip", bomb=b"\0" * (40 << 20))
    raw = bytearray(path.read_bytes())
    place = raw.rfind(b"PK\x01\x02")
    raw[place + 24 : place + 28] = (1000).to_bytes(4, "little")
    path.write_bytes(raw)
    with Archive(path) as archive, pytest.raises(EntryProblem):
        archive.read("bomb")


@pytest.mark.parametrize("name", ["../up", "/root/x", "a/../../b", "C:\\x", "a\\..\\..\\b"])
def test_entries_with_unsafe_names_are_listed_not_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "u.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, b"x")
        archive.writestr("ok", b"y")
    with Archive(path) as found:
        assert list(found.names()) == ["ok"]
        assert len(found.odd) == 1


def test_an_entry_without_a_name_is_listed_not_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "n.zip", ok=b"y", x=b"x")
    raw = path.read_bytes()
    for mark, place in ((b"PK\x03\x04", 26), (b"PK\x01\x02", 28)):  # where a name's length is
        at = raw.rindex(mark) + place
        raw = raw[:at] + b"\0\0\1\0" + raw[at + 4 :]  # its one letter is an extra field's
    path.write_bytes(raw)
    with Archive(path, salvage=True) as found:
        assert "ok" in found
        assert list(found.names()) == ["ok"]


def test_zstandard_entries_of_several_frames_are_read(tmp_path: Path) -> None:
    """Method 93, as newer tools write it: Python below 3.14 has no decompressor for it."""
    data = b"one" * 1000 + b"two"
    frames = zstandard.compress(data[:1500]) + zstandard.compress(data[1500:])
    name = b"samples/a.json"
    crc = zlib.crc32(data)
    head = b"\x14\0\0\0" + (93).to_bytes(2, "little") + b"\0" * 4 + crc.to_bytes(4, "little")
    head += len(frames).to_bytes(4, "little") + len(data).to_bytes(4, "little")
    head += len(name).to_bytes(2, "little") + b"\0\0"
    out = io.BytesIO()
    out.write(b"PK\x03\x04" + head + name + frames)
    directory = out.tell()
    out.write(b"PK\x01\x02\x14\0" + head + b"\0" * 14 + name)
    size = out.tell() - directory
    out.write(
        b"PK\x05\x06\0\0\0\0\x01\0\x01\0" + size.to_bytes(4, "little")
        + directory.to_bytes(4, "little") + b"\0\0"
    )  # fmt: skip
    path = tmp_path / "z.zip"
    path.write_bytes(out.getvalue())
    with Archive(path) as archive:
        assert archive.read("samples/a.json") == data


def test_a_damaged_entry_costs_that_entry(tmp_path: Path) -> None:
    path = zipped(tmp_path / "d.zip", one=b"1" * 5000, two=os.urandom(5000))
    raw = bytearray(path.read_bytes())
    place = raw.find(b"two") + 200
    raw[place : place + 20] = b"\xff" * 20
    path.write_bytes(raw)
    with Archive(path) as archive:
        assert archive.read("one") == b"1" * 5000
        with pytest.raises(EntryProblem):
            archive.read("two")


# heads and walks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": 1, "b": [1, 2, {"c": "x', {"a": 1, "b": [1, 2, {}]}),
        (b'[{"a": 1}, {"b": ', [{"a": 1}, {}]),
        (b'{"a": 1} trailing', {"a": 1}),
        (b'{"a": 1', {}),
        (b"[" * 1000, None),
        (b"nonsense", None),
        (b"", None),
        (b'{"a": ]}', None),
    ],
)
def test_the_first_value_is_closed_where_it_is_cut(text: bytes, value: Any) -> None:
    assert first_value(text, whole_extent(text)) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '{"a": 1}\n',
        '{"a": 1}\r\n{"b": 2}\n',
        '\n {"a": 1}\n{"b": 2}',
        '{"a": 1} {"b": 2}\n{"c": 3}',
        '[{"a": 1}]\n{"b": 2}',
        '{"a": 1, "a": 2}\n{"b": 2}',
        '{"a":\n 1}\n{"b": 2}',
        '{"a": NaN}\n{"b": 2}',
        '{"a": 1',
        "[" * 70 + "]" * 70 + '\n{"b": 2}',
        "nonsense\n1",
    ],
)
def test_lines_of_a_head_are_what_each_line_says(text: str, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_bytes(text.encode())
    told = []
    for line in text.lstrip(" \n").encode().split(b"\n"):
        with contextlib.suppress(NotJson):
            told.append(parse(line))
    head = Head(path)
    assert list(Head(path).lines()) == told  # whichever was asked for first
    assert head.value is None or isinstance(head.value, (dict, list))
    assert list(head.lines()) == told


def test_names_are_exact_however_large_a_member_is(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_text(json.dumps({"first": ["x" * 1000] * 1000, "last": 1}))
    head = Head(path)
    assert not head.has("last")
    assert head.names == {"first", "last"}


def test_a_walk_gives_parts_and_skips_what_it_holds_in_them() -> None:
    document = {"info": {"a": [1, {"b": "]}"}]}, "runs": [{"n": 1}, {"n": 2}], "end": None}
    parts = list(walk(io.BytesIO(json.dumps(document).encode()), ("runs", EACH)))
    assert [(part.path, json.loads(part.raw)) for part in parts] == [
        (("info",), document["info"]),
        (("runs", 0), {"n": 1}),
        (("runs", 1), {"n": 2}),
        (("end",), None),
    ]


@pytest.mark.parametrize("cut", [5, 20, 30, 40, 60])
def test_a_truncated_document_gives_what_stands_before(cut: int) -> None:
    text = json.dumps({"runs": [{"n": number} for number in range(9)]}).encode()
    parts = list(walk(io.BytesIO(text[:cut]), ("runs", EACH)))
    assert parts[-1].problem.startswith("json: truncated")
    assert [json.loads(part.raw)["n"] for part in parts[:-1]] == list(range(len(parts) - 1))


def test_a_deep_part_is_unreadable_not_a_crash() -> None:
    with pytest.raises(Unreadable, match="nested"):
        list(walk(io.BytesIO(b'{"a": ' + b"[" * 100_000), ("b", EACH)))


def test_a_name_with_a_line_feed_is_said_in_one_line(door: Door) -> None:
    for name, value in (("a\nb.json", {"a": 1}), ("c\nd.json", {"messages": [
        {"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]})):  # fmt: skip
        door.file(name, value)
    told = door.run("import", door.root / "a\nb.json", door.root / "c\nd.json")
    lines = [line for line in told.err.splitlines() if not line.startswith("  ")]
    assert [("a␊b.json: refused" in line, "c␊d.json: 1 record" in line) for line in lines] == [
        (True, False), (False, True)]  # fmt: skip
