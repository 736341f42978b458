"""Calls that a model wrote as text, in the forms that models are trained on, for records that have
no other form of call."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from reviewer.importing.account import Account
from reviewer.importing.draft import Draft
from reviewer.importing.foreign_json import parse_text
from reviewer.trace import late
from reviewer.trace.events import TAGS, marked

Call = tuple[str, Any]
"""A call's name and its arguments."""
Form = tuple[list[Call], str] | None
"""The calls of one form of markup and the text without them; None where it has no such markup."""


class TextCalls(NamedTuple):
    """The calls in a text, the words around them, and whether all markup in it was understood.
    It is not `marked` where only its shape suggests a call: whether a result comes next then
    decides."""

    calls: list[Call]
    words: str
    understood: bool
    marked: bool = True


_THINK = late(r"<(think|thinking)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_PREFIX = r"(?:minimax:|antml:)?"
_NAMED = late(rf"<({TAGS})>\s*(.*?)\s*</\1>", re.DOTALL)
_SMOL = late(r"Calling tools:\s*(\[.*\])\s*\Z", re.DOTALL)
_TAGGED = late(
    r"(?:<tool_call>|<function_?call>|<\|tool_call\|>|<tool_call\|>|<\|tool_call>)\s*(.*?)\s*"
    r"(?:</tool_call>|</function_?call>|<\|/tool_call\|>|<tool_call\|>|\Z)",
    re.DOTALL,
)
_INVOKE = late(
    rf"<{_PREFIX}invoke(?:\s+name\s*=\s*[\"']?([^\"'>]+)[\"']?)?\s*>(.*?)</{_PREFIX}invoke>",
    re.DOTALL,
)
_PARAMETER = late(
    rf"<{_PREFIX}parameter\s*(?:name\s*)?=\s*[\"']?([^\"'>]+)[\"']?[^>]*>\n?(.*?)\n?"
    rf"</{_PREFIX}parameter>",
    re.DOTALL,
)
_FUNCTION = late(r"<function\s*=\s*[\"']?([^>\"']+)[\"']?\s*>(.*?)(?:</function>|\Z)", re.DOTALL)
_MEMBER = late(r"<([A-Za-z_][\w.-]*)>(.*?)</\1>", re.DOTALL)
_GLM = late(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_REACT = late(
    r"^[ \t>*_]*Action(?: ?\d+)?[*_]*:[ \t*_]*(?P<name>[^\n]*?)[ \t*_]*\n"
    r"[ \t>*_]*Action[ _]?Input(?: ?\d+)?[*_]*:[ \t]*(?P<given>.*?)"
    r"(?=\n[ \t>*_]*(?:Observation|Thought|Action|Final Answer|Question)\b(?: ?\d+)?[*_]*:|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_BRACKETED = late(
    r"^[ \t>*_]*Action(?: ?\d+)?[*_]*:[ \t*_]*(?P<name>[\w.-]+)\[(?P<given>.*)\][ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_LISTED = late(
    r"(?:\[TOOL_CALLS?\]|<\|python_tag\|>|<\|tool_calls?\|>|<tool_calls>|<function_calls>|<TOOLCALL>"
    r"|<\|START_ACTION\|>|<\|action_start\|>\s*<\|plugin\|>|\bfunctools\b)\s*"
    r"(?=[\[{])(.*?)(?:</?\|?(?:tool|function)_?calls?\|?>|<\|\w+\|>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_MISTRAL = late(
    r"\[TOOL_CALLS\]\s*([\w.-]+)\s*(?:\[ARGS\])?\s*(\{.*?\})\s*(?=\[TOOL_CALLS\]|\Z)", re.DOTALL
)
_DEEPSEEK = late(
    r"<\uff5ctool\u2581call\u2581begin\uff5c>(?:function<\uff5ctool\u2581sep\uff5c>)?(.*?)"
    r"(?:<\uff5ctool\u2581sep\uff5c>|\n```json\n)(.*?)<\uff5ctool\u2581call\u2581end\uff5c>",
    re.DOTALL,
)
_KIMI = late(
    r"<\|tool_call_begin\|>\s*(?:functions\.)?([\w.-]+?)(?::\d+)?\s*"
    r"<\|tool_call_argument_begin\|>\s*(.*?)\s*<\|tool_call_end\|>",
    re.DOTALL,
)
_HARMONY = late(
    r"(?:<\|start\|>assistant\s*)?(?:<\|channel\|>\w+\s*)?\bto=(?:functions\.)?([\w.-]+)[^<]*"
    r"(?:<\|channel\|>\w+[^<]*)?(?:<\|constrain\|>\w+)?<\|message\|>(.*?)(?:<\|call\|>|\Z)",
    re.DOTALL,
)
_ANSWER = late(
    r"<(?:tool_response|tool_result|function_result)s?>\s*(.*?)\s*"
    r"</(?:tool_response|tool_result|function_result)s?>",
    re.DOTALL,
)
_OBSERVED = late(
    r"\A[ \t>*_]*(?:Observation"
    r"|(?:Tool|Function|Execution|Code|API)[ _-]?(?:results?|outputs?|response)"
    r"|\[[\w.:-]+(?: for [^\]\n]*)?\] Result"
    r")(?: ?\d+)?[*_]*:[ \t]*(.*)\Z",
    re.DOTALL | re.IGNORECASE,
)
_FENCE = late(r"```(?:json|tool_call|tool_code|action)?\s*\n?([\[{].*?[\]}])\s*```", re.DOTALL)
_BLOCKS = late(
    r"""(["'])type\1\s*:\s*(["'])[\w-]*(?:tool|call|function)[\w-]*\2"""
    r"""|(["'])(?:toolUse|toolCall|functionCall|function_call|tool_calls|tool_use|executableCode)\3\s*:"""
    r"""|(["'])function\4\s*:\s*\{"""
)
_TOOL_NAMED = late(
    r"""(["'])(?:tool|tool_name|toolName|function|function_name|functionName|api_name)\1\s*:"""
    r"""\s*(["'])[A-Za-z_][\w.:/-]*\2"""
)
_GIVEN = late(
    r"""(["'])(?:arguments|args|parameters|params|action_input|tool_input|input|kwargs|command|tool_calls"""
    r"""|function_call|functionCall|toolUse|tool_use|tool|tool_name|function|action|type)\1\s*:"""
)
_PYTHONIC = late(r"\s*\[?\s*[A-Za-z_][\w.]{0,120}\([^\n]{0,20000}\)\s*\]?\s*\Z")
_TRIES = 64
_NAMES = ("name", "tool", "tool_name", "action", "function", "recipient_name", "function_name")
_ARGUMENTS = ("arguments", "args", "parameters", "action_input", "input", "tool_input", "params")
_TEXT = 1 << 18


def calls_in(text: str) -> TextCalls | None:
    """Return the calls that the agent wrote into a text; None when it contains no markup of calls.
    A complete call within a thought counts as not understood, unless it is also made after it."""
    spoken = _THINK.sub("", text)
    found = _spoken(spoken)
    if len(spoken) == len(text) or len(text) > _TEXT:
        return found
    for thought in _THINK.finditer(text):
        inner = thought.group(0)[len("<think>") : -len("</think>")]
        drafted = _spoken(inner) if marked(inner) else None
        made = found.calls if found is not None else []
        if drafted is not None and any(call not in made for call in drafted.calls):
            return TextCalls(made, text, False)
    return found


def _spoken(spoken: str) -> TextCalls | None:
    text = spoken
    if spoken[:1] == '"' and isinstance(told := parse_text(spoken), str) and told != spoken:
        return TextCalls([], text, False) if calls_in(told) is not None else None
    if len(spoken) > _TEXT:
        return TextCalls([], text, False) if marked(spoken) else None
    if not marked(spoken):
        bare = _pythonic(spoken) if _PYTHONIC.match(spoken) else _json(spoken)
        return bare or (TextCalls([], text, False) if _shaped(spoken) else None)
    for read in _FORMS:
        form = read(spoken)
        if form is not None:
            calls, rest = form
            whole = bool(calls) and not marked(rest)
            return TextCalls(calls, rest.strip(), whole)
    found = _json(spoken)  # in a fence after a word that says so
    if found is not None and not marked(found.words):
        return found._replace(marked=True)
    return TextCalls([], text, False)


def holds_blocks(text: str) -> bool:
    """Return whether a text is JSON of the blocks of structured messages, with calls among them."""
    if text.lstrip()[:1] not in ("{", "[") or not _BLOCKS.search(text):
        return False
    return len(text) > _TEXT or parse_text(text) is not None or _literal(text) is not None


def _literal(text: str) -> Any:
    """Return a value that was printed by Python; None for anything else."""
    if text.lstrip()[:1] not in ("{", "[") or "'" not in text or len(text) > _TEXT:
        return None
    try:
        return ast.literal_eval(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return None


def _shaped(text: str) -> bool:
    """Return whether an object in a text, as JSON or as Python prints it, has the shape of a
    call."""
    if _GIVEN.search(text) is None:
        return False
    if _TOOL_NAMED.search(text):
        return True
    values = list(_objects(text)) or [_literal(text)]
    return any(Account().left(value, Draft("text")) for value in values)


def _objects(text: str) -> Iterator[Any]:
    """Yield the JSON objects and lists of objects in a text."""
    at = tries = 0
    while (found := _OPENS.search(text, at)) and tries < _TRIES:
        tries += 1
        try:
            value, at = _DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            at = found.start() + 1
            continue
        yield value


_OPENS = late(r"\{\s*\"|\[\s*\{")
_DECODER = json.JSONDecoder(strict=False)


def results_in(text: str) -> list[str]:
    """Return the results that a text of the user or a tool contains as markup; empty when none."""
    found = _ANSWER.findall(text)
    if found:
        return [str(one) for one in found]
    seen = _OBSERVED.match(text)
    return [seen.group(1)] if seen else []


def _read(
    pattern: re.Pattern[str], text: str, read: Callable[[re.Match[str]], list[Call] | None]
) -> Form:
    """Return the results of `read` for every match; no calls where it does not understand one of
    them."""
    found = list(pattern.finditer(text))
    calls: list[Call] = []
    for one in found:
        made = read(one)
        if made is None:
            return [], text
        calls += made
    return (calls, pattern.sub("", text)) if found else None


def _tagged(text: str) -> Form:
    """Read `<tool_call>` with JSON (Hermes, Qwen), `<function=…>` (Qwen3-Coder) or keys (GLM)."""
    return _read(_TAGGED, text, _whole_tag)


def _whole_tag(one: re.Match[str]) -> list[Call] | None:
    """Return the calls in a tag; in a tag that is not closed only JSON, which has an end of its
    own."""
    held = one.group(1)
    closed = len(one.group(0).rstrip()) > one.end(1) - one.start(0)
    return _inside(held) if closed or held[:1] in ("{", "[") else None


def _inside(text: str) -> list[Call] | None:
    if text[:1] in ("{", "["):
        return _of_value(parse_text(text))
    if "<function" in text:
        found = _functions(text)
        return found[0] if found and found[0] and not found[1].strip() else None
    if text.startswith("<invoke"):
        found = _invoked(text)
        return found[0] if found and found[0] else None
    name, _, rest = text.partition("\n")
    if "<arg_key>" in text:
        name = text.partition("<arg_key>")[0]
        rest = text[len(name) :]
    if not re.fullmatch(r"[\w.-]+", name.strip()) or _GLM.sub("", rest).strip():
        return None
    return [(name.strip(), {key.strip(): _value(one) for key, one in _GLM.findall(rest)})]


def _functions(text: str) -> Form:
    return _read(_FUNCTION, text, lambda one: [(one.group(1).strip(), _parameters(one.group(2)))])


def _invoked(text: str) -> Form:
    found = _read(_INVOKE, text, _one_invoke)
    if found is None:
        return None
    rest = re.sub(rf"</?{_PREFIX}(?:function_calls|tool_calls?)>", "", found[1])
    return found[0], rest


def _one_invoke(one: re.Match[str]) -> list[Call] | None:
    name, inside = one.group(1), one.group(2)
    if name:
        return [(name.strip(), _parameters(inside))]
    members = dict(_MEMBER.findall(inside))  # the older form: <tool_name>, <parameters>
    name = members.get("tool_name", "").strip()
    given = {key: _value(value) for key, value in _MEMBER.findall(members.get("parameters", ""))}
    return [(name, given)] if name else None


def _parameters(text: str) -> Any:
    """Return the arguments: JSON, or `<parameter>` members."""
    inside = text.strip()
    if inside[:1] == "{":
        return inside
    found = _PARAMETER.findall(text)
    if not found and inside:
        members = _MEMBER.findall(inside)
        return {key: _value(one) for key, one in members} if members else inside
    return {key.strip(): _value(one) for key, one in found}


def _value(text: str) -> Any:
    """Return a value as JSON where it is an object, a list, a number or a literal, else as text."""
    plain = text.strip()
    if re.fullmatch(r"[\[{].*[\]}]|-?\d+(?:\.\d+)?|true|false|null", plain, re.DOTALL):
        found = parse_text(plain)
        return found if found is not None else (None if plain == "null" else text)
    return text


def _listed(text: str) -> Form:
    """Read `[TOOL_CALLS] [{…}]` (Mistral), `<|python_tag|>{…}` (Llama), `<|tool_call|>[…]`
    (Granite)."""
    return _read(_LISTED, text, lambda one: _of_value(parse_text(one.group(1).strip())))


def _pairs(pattern: re.Pattern[str]) -> Callable[[str], Form]:
    """Return a reader of markup with a name and its arguments."""

    def read(text: str) -> Form:
        found = _read(pattern, text, lambda one: [(one.group(1).strip(), _unfenced(one.group(2)))])
        return found and (
            found[0],
            re.sub(r"<[|\uff5c][^>]*[|\uff5c]>|\[TOOL_CALLS\]", "", found[1]),
        )

    return read


def _unfenced(text: str) -> str:
    return re.sub(r"\A```\w*\n|\n?```\Z", "", text.strip()).strip()


def _react(text: str) -> Form:
    """Read `Action:` with `Action Input:`, as ReAct prompts ask for it."""

    def one(found: re.Match[str]) -> list[Call] | None:
        name = found.group("name").strip().strip("`\"'")
        return [(name, _loose(found.group("given")))] if name else None

    return _read(_REACT, text, one) or _read(_BRACKETED, text, one)


def _loose(text: str) -> Any:
    plain = _unfenced(text)
    value = parse_text(plain) if plain[:1] == "{" else None
    if isinstance(value, dict):
        return plain
    return {"input": plain.strip("\"'`")} if plain else {}


def _pythonic(text: str) -> TextCalls:
    """Read `[name(order="o-7")]`, as Llama writes calls."""
    calls: list[Call] = []
    try:
        listed = ast.parse(text.strip(), mode="eval").body
        for one in listed.elts if isinstance(listed, ast.List) else [listed]:
            if not isinstance(one, ast.Call) or one.args:
                return TextCalls([], text, False, False)
            given = {str(word.arg): ast.literal_eval(word.value) for word in one.keywords}
            calls.append((ast.unparse(one.func), given))
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return TextCalls([], text, False, False)
    return TextCalls(calls, "", bool(calls), False)


def _json(text: str) -> TextCalls | None:
    """Read a text that is nothing but a call as JSON, alone or in a fence."""
    plain = text.strip()
    fenced = _FENCE.search(plain)
    inside = plain if plain[:1] in ("{", "[") else fenced.group(1) if fenced else ""
    if not inside or '"' not in inside:
        return None
    calls = _of_value(parse_text(inside))
    if not calls:
        return None
    words = plain.replace(fenced.group(0), "").strip() if fenced and inside != plain else ""
    return TextCalls(calls, words, True, False)


def _of_value(value: Any) -> list[Call] | None:
    """Return the calls in a JSON value; None when it is not a call."""
    found: list[Call] = []
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, dict):
            return None
        inner = one.get("function")
        call = inner if isinstance(inner, dict) else one
        name = next((call[n] for n in _NAMES if isinstance(call.get(n), str) and call[n]), None)
        given = next((n for n in _ARGUMENTS if n in call), None)
        if name is None or given is None:
            return None
        value = call[given]
        # A structured chat agent passes the bare text to a tool with one argument.
        alone = given == "action_input" and isinstance(value, str) and value[:1] != "{"
        found.append((name, {"input": value} if alone else value))
    return found or None


def _tags(text: str) -> Form:
    """Read a tool's own tag with its parameters in tags: Cline, Roo Code, OpenHands."""

    def one(found: re.Match[str]) -> list[Call]:
        name, inside = found.group(1), found.group(2)
        given: Any = {key: _value(value) for key, value in _MEMBER.findall(inside)}
        if name == "use_mcp_tool" and isinstance(given.get("tool_name"), str):
            return [(given["tool_name"].strip(), given.get("arguments"))]
        return [(name, given or ({"input": inside} if inside else {}))]

    return _read(_NAMED, text, one)


def _smol(text: str) -> Form:
    """Read `Calling tools:` with a Python list (smolagents)."""

    def one(found: re.Match[str]) -> list[Call] | None:
        try:
            return _of_value(ast.literal_eval(found.group(1)))
        except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
            return None

    return _read(_SMOL, text, one)


_FORMS: tuple[Callable[[str], Form], ...] = (
    *(_tagged, _tags, _smol, _invoked, _functions),
    *(_pairs(_KIMI), _pairs(_DEEPSEEK), _pairs(_HARMONY), _pairs(_MISTRAL)),
    *(_listed, _react),
)
"""Forms of markup, in the order they are tried."""
