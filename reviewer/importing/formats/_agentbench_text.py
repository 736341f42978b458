"""Acts that AgentBench agents write as text, as calls."""

import re
from typing import Any, NamedTuple

from reviewer.importing.foreign_json import parse_text

_FENCE = re.compile(r"\A\s*```\w*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_GET = re.compile(r"\A\s*GET\s+(\S+)\s*\Z")
_POST = re.compile(r"\A\s*(POST|PUT|PATCH|DELETE)\s+(\S+)[ \t]*(?:\n(.*))?\Z", re.DOTALL)
_FINISH = re.compile(r"\A\s*FINISH\((.*)\)\s*\Z", re.DOTALL)
# `Act: bash` and a code block; `Act: answer(220)`; `Action: Operation` and a sql block;
# `Action: get_relations(Obama)`; `ACTION: go to desk 1`; `Action:\nclick[Buy now]`
_ACT = re.compile(r"(?im)^[ \t>*]*(?:act|action)\s*:[ \t]*\**[ \t]*\n?[ \t]*(\S.*)$")
_BLOCK = re.compile(r"```(\w*)[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_CALLED = re.compile(r"\A([A-Za-z_]\w{0,60})\s*[(\[](.*)[)\]]\s*\.?\s*\Z", re.DOTALL)
_VERB = re.compile(r"(?m)^[ \t]*(?:(?:GET|POST|PUT|PATCH|DELETE)[ \t]+\S*/|FINISH\()")
_FINAL = re.compile(r"(?im)^[ \t]*final answer\s*:[ \t]*(.+)$")
MOST = 1 << 20


class Call(NamedTuple):
    """A tool and its arguments."""

    tool: str
    arguments: dict[str, Any]


def call_in(content: str) -> Call | None:
    """The one act an agent's turn holds; None when there is none that is known."""
    if len(content) > MOST:
        return None
    fenced = _FENCE.match(content)
    text = fenced.group(1) if fenced else content
    return _request(text) or _act(text)


def acts_in(content: str) -> int:
    """Return how many acts a turn holds that stand in lines of their own; only the first is
    read."""
    return len(_ACT.findall(content)) or len(_VERB.findall(content))


def _request(text: str) -> Call | None:
    if found := _GET.match(text):
        return Call("GET", {"url": found.group(1)})
    if found := _POST.match(text):
        body = (found.group(3) or "").strip()
        value = parse_text(body)
        return Call(
            found.group(1), {"url": found.group(2), "body": body if value is None else value}
        )
    if found := _FINISH.match(text):
        value = parse_text(found.group(1))
        return Call("FINISH", {"answers": found.group(1) if value is None else value})
    return None


def _act(text: str) -> Call | None:
    found = _ACT.search(text)
    if found is None:
        final = _FINAL.search(text)
        return Call("answer", {"answer": final.group(1).strip()}) if final else None
    act = found.group(1).strip().strip("*`").strip()
    rest = text[found.end() :]
    block = _BLOCK.search(rest)
    if called := _CALLED.match(act):
        return Call(called.group(1), {"value": called.group(2)})
    if block is not None and re.fullmatch(r"\w{1,60}", act):
        return Call(act, {"code": block.group(2)})
    if final := _FINAL.search(rest):
        return Call(act.casefold(), {"answer": final.group(1).strip()})
    word, _, value = act.partition(" ")
    return Call(word[:60], {"value": value} if value else {})
