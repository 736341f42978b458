"""Text that means harm to whoever prints it, and a store that is full of it."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from doors import SHIPPED, V7, V8, Door, compact, lines, shipped

from reviewer.desk.scorecards.views import SavedView
from reviewer.review.items import item_name

SUITE = "hostile-eval-v1"
WORD = "EVIL"
"""What every hostile text begins with, so that a test sees that it was shown at all."""

# Each is something that a terminal does. The numbers in them are such as nothing of ours writes.
SEQUENCES = (
    "\x1b[38;5;201m",  # colors
    "\x1b[3J\x1b[2;73H",  # clears the scrollback, jumps
    "\x1b]52;c;ZXZpbCBjbGlwYm9hcmQ=\x07",  # writes the clipboard
    "\x1b]52;p;?\x1b\\",  # reads it
    "\x1b]8;;http://evil.example/\x1b\\here\x1b]8;;\x1b\\",  # a link
    "\x1b]0;evil title\x07",
    "\x1b]22;wait\x1b\\",  # the pointer
    "\x1bP$q q\x1b\\\x1bP+q544e\x1b\\",  # asks the terminal, which answers as if it were typed
    "\x1b[6n\x1b[>0q\x1b[c\x1b[21t",
    "\x1b_Gi=31;AAAA\x1b\\\x1b^evil\x1b\\\x1bXevil\x1b\\",
    "\x1b[?1049l\x1b[?1003h\x1b[?2004l\x1b[?1337h",  # modes
    "\x1b[>31u\x1b[=5;1u",
    "\x1bc\x1b#8\x1b(0\x1b[!p",  # resets, alignment test, another alphabet
    "\x9b31;77m\x9d0;evil\x9c\x90evil\x9c\x84\x85\x8d",  # C1
    "\x07\x08\x08\x0b\x0c\r\x0e\x0f\x18\x1a\x7f\x00",
)
SHAPES = (
    "\u202egnp.exe\u202c \u2067evil\u2069 \u061c\u200f",  # right to left
    "a\u200db\u200bc\u2060d\ufeffe \U0001f468\u200d\U0001f469\u200d\U0001f467\ufe0f",  # joined
    "e" + "\u0301\u0323\u0489" * 120,  # marks without end
    "\U000e0065\U000e0076\U000e0069\u00ad\u180e\u3164",  # not to be seen
    "漢字" * 40 + "\U0001f600" * 20,  # wide
    "\u2028\u2029\x85new lines",
    "[/foo] [bold red]x[/] [@click=app.quit]quit[/] [link=http://evil.example]y $name {x} %s",
    "\t\ttabs\n\nlines\n",
)
LONG = "x" * 30_000
MOST_NAME = 200
ALL = (*SEQUENCES, *SHAPES)


def hostile(turn: int, *, long: bool = False) -> str:
    """All of it; `turn` says what comes first, which is all that a narrow column shows."""
    at = turn % len(ALL)
    return WORD + "".join((*ALL[at:], *ALL[:at])) + (LONG if long else "")


class Texts:
    """Hostile texts one after another, each beginning with something else."""

    def __init__(self) -> None:
        self._turn = 0

    def __call__(self, *, long: bool = False) -> str:
        self._turn += 1
        return hostile(self._turn, long=long)


# a store of it ------------------------------------------------------------------------------------


def names() -> tuple[str, str]:
    """Two candidates whose names hold what a name may hold, which is anything."""
    return f"{WORD}-a {ALL[0]}{SHAPES[0]}", f"{WORD}-b {ALL[3]}{SHAPES[2]}"


def record(text: Texts, base: dict[str, Any], candidate: str, nonce: int) -> dict[str, Any]:
    """A record whose every text is hostile, of the shape of `base`."""
    found = {**base, "candidate_id": candidate, "latency_ms": base["latency_ms"] + nonce}
    value = {
        text(): text(long=True),
        "list": [text(), {text(): text()}],
        "json": json.dumps(text()),
    }
    call = {"kind": "tool_call", "arguments": value, "actor": text()}
    found["events"] = [
        {
            **call,
            "tool": text()[:MOST_NAME],
            "status": "error",
            "observation": value,
            "latency_ms": 5.0,
            "cost_usd": 0.001,
            "state": {text(): value},
            "approval": {text(): text()},
            "started_at": text(),
        },
        {**call, "tool": "issue_refund", "observation": text(long=True)},
        {"kind": "tool_result", "tool": "issue_refund", "observation": text()},
        {"kind": "message", "actor": text(), "message": text(long=True)},
        {"kind": "state_snapshot", "state": {text(): text(), "outcome": text()}},
        {"kind": "error", "observation": text(), "status": "error"},
    ]
    found["events"] = [{"seq": n, **event} for n, event in enumerate(found["events"], 1)]
    found |= {
        "final_state": text(), "final_message": text(), "termination": text(),
        "source": {"format": text(), text(): [text()], "user_feedback": text(), "notes": [text()]},
    }  # fmt: skip
    return found


def write_suite(door: Door, text: Texts) -> None:
    """A suite whose every free text is hostile, frozen."""
    folder = door.root / "suites" / SUITE
    shutil.copytree(SHIPPED, folder, ignore=shutil.ignore_patterns("labels", "judgments", "traces"))
    (folder / "suite.lock").unlink()
    shutil.rmtree(folder / ".frozen", ignore_errors=True)
    _edit(folder / "suite.json", lambda x: {"suite_id": SUITE, "title": text()})
    for path in sorted((folder / "episodes").glob("*.json")):
        tag = f"{WORD} [/foo] 漢字 [@click=app.quit]"
        told = {"title": text(), "user_request": text()}
        _edit(path, lambda x, told=told, tag=tag: {**told, "tags": [*x["tags"], tag]})
    _edit(
        folder / "rubric.json",
        lambda x: {"criteria": [{**c, "title": text(), "asks": text()} for c in x["criteria"]]},
    )
    door.ok("suite", "freeze", SUITE)


def _edit(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    body = json.loads(path.read_text("utf-8"))
    path.write_bytes(compact({**body, **change(body)}))


def said(door: Door, kind: str, text: Texts) -> Iterator[dict[str, Any]]:
    """The shipped labels or judgments as if made on the hostile suite, with hostile words."""
    digest = door.one("SELECT digest FROM suite WHERE suite_id=?", SUITE)
    rubric = hashlib.sha256((door.root / "suites" / SUITE / "rubric.json").read_bytes()).hexdigest()
    path = SHIPPED / kind / "shopflow.jsonl"
    for line in path.read_text("utf-8").splitlines():
        one = {name: value for name, value in json.loads(line).items() if name != "uid"}
        one |= {"suite_id": SUITE, "suite_digest": digest}
        messages = [x for x in (one["left"], one["right"], one["message"]) if x]
        one["item"] = item_name(one["kind"], digest, one["episode_id"], messages)
        if one.get("rubric_digest"):
            one["rubric_digest"] = rubric
        one["traces"] = [f"{SUITE}/{trace.partition('/')[2]}" for trace in one["traces"]]
        one |= {"note": text()} if kind == "labels" else {"reason": text()}
        yield one


def fill(door: Door) -> None:
    """Every text that a store, a suite and its people can hold, hostile."""
    text = Texts()
    write_suite(door, text)
    for candidate in (V7, V8):
        door.take(f"{candidate}.jsonl", shipped(candidate), "--suite", SUITE)
    bases = [r for r in shipped(V7) if r["episode_id"] in ("attack-014", "appeal-009")]
    for number, candidate in enumerate(names()):
        records = [record(text, base, candidate, 100 * number + n) for n, base in enumerate(bases)]
        records.append({"episode_id": text(), "candidate_id": candidate, text(): text()})
        found = door.run("import", door.file(f"{WORD} {ALL[0]}\u202e{number}.jsonl", records),
                         "--suite", SUITE)  # fmt: skip
        assert f"{len(bases)} added" in found.err, found
    surrogate = b'{"episode_id":"attack-014","candidate_id":"\\ud83d","final_state":"\\udc80"}\n'
    door.take("surrogates.jsonl", surrogate)
    for kind in ("labels", "judgments"):
        path = door.file(f"{kind}.jsonl", lines(list(said(door, kind, text))))
        door.ok(kind, "import", path)
    desk = door.desk()
    for turn, name in enumerate(("[/foo] x", "[@click=app.quit]y[/]")):
        desk.scorecards.save_view(SavedView(name=f"{WORD} {name}", filter=f"tool:{turn}"))
    desk.close()
    for number, candidate in enumerate(names()):
        trace = f"{SUITE}/{candidate}/attack-014/1"
        door.ok("notes", "add", trace, "--seq", number + 1, hostile(number)[:3000])
        door.ok("notes", "bookmark", trace, "--seq", 2)
