"""Markup of tool calls in a text: whether there is any, whichever model was trained on it.

This only finds; `messages.astext` reads. A text is looked at as its reader would see it too:
without invisible characters, in ordinary letters, with entities resolved.
"""

import re
import unicodedata

from reviewer.trace.patterns import late

TAGS = "|".join(
    (
        *("execute_command", "execute_bash", "execute_ipython", "execute_browse", "read_file"),
        *("write_to_file", "replace_in_file", "apply_diff", "insert_content", "search_files"),
        *("search_and_replace", "list_files", "list_code_definition_names", "browser_action"),
        *("use_mcp_tool", "access_mcp_resource", "ask_followup_question", "attempt_completion"),
        *("new_task", "switch_mode", "plan_mode_respond", "fetch_instructions"),
    )
)
"""Tools that coding agents call by a tag of their name (Cline, Roo Code, OpenHands)."""

_LINE = r"^[ \t>*_`#-]*"
_NAME = r"[`'\"]?[A-Za-z_][\w.:/-]*[`'\"]?"
_FORMS = (
    # tags, with or without a namespace
    r"<\s*/?\s*(?:[\w.-]+:)?(?:tool|function)[ _-]?(?:calls?|uses?|code|invocations?)\b",
    r"<\s*/?\s*(?:[\w.-]+:)?invoke\b",
    r"<\s*(?:[\w.-]+:)?(?:function|tool)\s*=",
    r"<(?:" + TAGS + r")>",
    r"<execute(?:_\w+)?>",
    r"<[A-Za-z]\w*_\w+>\s*<(?P<child>[A-Za-z]\w*)>[^<]*</(?P=child)>",
    r"Thought:[\s\S]{0,4000}?<code>",
    r"<end_(?:code|action)>",
    r"<\s*(?:tool|function|action|call|use_tool|tool_name|function_name|api_call)\b[^<>\n]{0,200}>",
    # special tokens
    r"<[|\uff5c](?![^|\uff5c<>\n]{0,40}(?:list|response|result|output))[^|\uff5c<>\n]{0,40}"
    r"(?:tool|func|call|plugin|recipient|python_tag|action|dsml)[^|\uff5c<>\n]{0,40}[|\uff5c]",
    r"<\|(?:start|channel)\|>[^<\n]{0,80}\bto=",
    r"<tool_call\|>",
    r"\[TOOL_CALLS?\]",
    r"\bfunctools\s*\[\s*\{",
    r"\[\[ ## next_tool_name ## \]\]",
    r"<<<\s*api_call\s*>>>",
    r"<bot_end>",
    # words that say it
    r"```(?:tool_code|tool_call|action)\b",
    r"Calling tools:\s*\[",
    r"\bmulti_tool_use\.parallel\b",
    r"\bfunctions\.[A-Za-z_]\w*\s*[({]",
    r"\b(?:calling|invoking|executing|running|call|invoke|execute|run)\s+[`'\"]?[A-Za-z]\w*_\w+[`'\"]?"
    r"\s*(?:\(|(?:with\s*)?:?\s*\{)",
    _LINE
    + r"(?:using )?(?:tool|function|api)(?:[ _]?name)?[ \t*_]*:[ \t*_]*"
    + _NAME
    + r"[ \t*_]*\n+"
    r"[ \t>*_`#-]*(?:tool[ _])?(?:inputs?|arguments|args|param(?:eter)?s)[ \t*_]*:",
    _LINE + r"Action(?: ?\d+)?[*_]*\s*:.*"
    r"(?:\n[ \t>*_]*Action[ _]?Input(?: ?\d+)?[*_]*\s*:|\[.*\][ \t]*$)",
    _LINE + r"Action(?: ?\d+)?[*_]*\s*:\s*```(?:json)?\s*[\[{]",
    _LINE
    + r"(?:(?:tool|function|api)[ _-]?)?(?:calls?|request|invocation|action)(?: ?\d+)?[ \t*_]*:"
    r"[ \t*_]*\[?" + _NAME + r"(?:[({\[]|\s+\{)",
    r"^>>>\s*[A-Za-z_][\w.]*[ \t]*\n?[ \t]*[({]",
    r"\[[A-Za-z_]\w*\([^\n\]]*\)\s*(?:\u2192|->)",
    r"\A\s*[A-Za-z_][\w.-]*[ \t]*\n[ \t]*\{[^\n]*\"[^\n]*:.*\}\s*\Z",
)
MARKS = late("|".join(_FORMS), re.MULTILINE | re.IGNORECASE)
_QUICK = late(r"[<\[{(]|Action|Tool|Function|API|&lt;|&#", re.IGNORECASE)
MOST = 1 << 18
"""Characters of a text that are looked through."""


_UNSEEN = late(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff"
    "\u0300-\u036f]"
)


def shown(text: str) -> str:
    """A text as a person reads it: no invisible characters, ordinary letters, entities resolved."""
    if "&" in text:
        from html import unescape  # its table of names takes a millisecond

        text = unescape(text)
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", text))


def marked(text: str) -> bool:
    """Return whether there is markup of a call in a text, as it is or as it is shown."""
    if _QUICK.search(text) is None:
        return False
    return MARKS.search(text) is not None or (
        ("&" in text or not text.isascii()) and MARKS.search(shown(text[:MOST])) is not None
    )
