"""What the scenes gave when they were last accepted.

A scene has two files in `recorded/`: `<scene>.sha256` with a line per record, which shows in a
change's diff which of them it touches, and `<scene>.json.zst` with the texts, to show how.
"""

import difflib
import hashlib
import json
from pathlib import Path

import zstandard

FOLDER = Path(__file__).resolve().parent / "recorded"
_LEVEL, _SHOWN = 19, 60


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def accept(scene: str, records: dict[str, str]) -> bool:
    """Keep the records of a scene from now on; return whether anything changed. The two files are
    compared with the records each: a merge may have brought one without the other."""
    body, kept = json.dumps(records, ensure_ascii=True).encode(), FOLDER / f"{scene}.json.zst"
    whole = kept.exists() and zstandard.decompress(kept.read_bytes()) == body
    if whole and differences(scene, records) == []:
        return False
    FOLDER.mkdir(exist_ok=True)
    lines = [f"{digest(text)}  {name}\n" for name, text in records.items()]
    (FOLDER / f"{scene}.sha256").write_text("".join(lines), encoding="utf-8")
    kept.write_bytes(zstandard.compress(body, _LEVEL))
    return True


def names(scene: str) -> list[str]:
    """Return the names of a scene's records; none where it was never accepted."""
    kept = FOLDER / f"{scene}.sha256"
    if not kept.exists():
        return []
    return [line.split("  ", 1)[1] for line in kept.read_text(encoding="utf-8").splitlines()]


def differences(scene: str, records: dict[str, str]) -> list[str]:
    """Return a text for each record that is not as accepted, with the lines that differ."""
    kept = FOLDER / f"{scene}.sha256"
    if not kept.exists():
        return [f"{scene}: never accepted"]
    lines = kept.read_text(encoding="utf-8").splitlines()
    was = {name: key for key, name in (line.split("  ", 1) for line in lines)}
    now = {name: digest(text) for name, text in records.items()}
    found = [f"{scene}: {name}: gone" for name in was if name not in now]
    found += [f"{scene}: {name}: new" for name in now if name not in was]
    changed = [name for name in now if name in was and was[name] != now[name]]
    if changed:
        packed = (FOLDER / f"{scene}.json.zst").read_bytes()
        texts = json.loads(zstandard.decompress(packed))
        found += [f"{scene}: {n}\n{_diff(texts[n], records[n])}" for n in changed]
    return found


def _diff(was: str, now: str) -> str:
    """A unified diff of two texts; lines too long to read are cut where they begin to differ."""
    lines = list(
        difflib.unified_diff(_readable(was), _readable(now), "accepted", "now", lineterm="", n=1)
    )
    more = len(lines) - _SHOWN
    return "\n".join(lines[:_SHOWN] + ([f"… {more} more lines"] if more > 0 else []))


def _readable(text: str) -> list[str]:
    """Lines; a long one of JSON or HTML in pieces, so that a diff shows the piece that differs."""
    lines = []
    for line in text.splitlines():
        if len(line) > 300:
            line = line.replace("><", ">\n<").replace(',"', ',\n"').replace(", ", ",\n")
        lines += line.splitlines() or [""]
    return lines
