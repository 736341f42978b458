"""What opens a door: tokens of known form, keys and passwords that are called so.

`prefilter` holds a looser byte pattern for each: widen it whenever one here is widened.
"""

import re
from base64 import b64decode
from collections.abc import Iterator

from reviewer.trace.patterns import late

_TOKEN = late(
    r"(?<![0-9A-Za-z])(?:"
    r"sk-[A-Za-z0-9_-]{20,}"
    r"|gh[opsur]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![0-9A-Za-z])|AIza[A-Za-z0-9_-]{30,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{30,}"
    r"|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"
    r"|eyJ[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?)"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"(?:[^-]*-----END [A-Z ]*PRIVATE KEY-----|(?:\s*[A-Za-z0-9+/=]{16,})*)"
)
_BEARER = late(r"(?i:\bbearer) +([A-Za-z0-9._~+/=-]{20,})")
_URL_LOGIN = late(
    r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\x00-\x20/?#:@\"'<>\s]*:([^\x00-\x20/?#@\"'<>\s]+)@"
)
_PASSWORD = late(
    r"(?<![0-9A-Za-z])(?i:password|passwd|passphrase|pwd)(?P<named>[\"']?)"
    r"(?P<sign>=|: ?)(?P<quote>[\"']?)(?P<value>[^\s\"'&,;<>(){}\[\]$%*]{4,})"
)
_KEY = late(
    r"(?<![0-9A-Za-z])(?i:(?:api|secret)[_-]?key|access[_-]?token|client[_-]?secret)[\"']?"
    r" ?[=:] ?[\"']?([A-Za-z0-9_+=-][A-Za-z0-9_+/=-]{15,}+)(?![.(\[])"
)
_BASIC = late(
    r"(?i:\bauthorization[\"']? ?[=:] ?[\"']?basic) +([A-Za-z0-9+/]{4,}+={0,2})(?![0-9A-Za-z_-])"
)
_CODE_WORD = late(
    r"boolean|false|null|none|optional|pass|passwd|password|redacted|required|secret|self|string|true"
    r"|undefined|unknown|value",
    re.IGNORECASE,
)


def credentials(text: str) -> Iterator[tuple[int, int]]:
    """Half-open spans of every credential in the text, in no order; they may overlap."""
    for found in _TOKEN.finditer(text):
        words_only = found.group().startswith("sk-") and not re.search("[0-9]", found.group())
        if not words_only:  # sk-learn-contrib-something is a name, a key has digits
            yield found.span()
    for found in _BEARER.finditer(text):
        yield found.span(1)
    for found in _URL_LOGIN.finditer(text):
        if not found.group(1).startswith(("$", "{", "*", "[")):
            yield found.span(1)
    for found in _KEY.finditer(text):
        if re.search("[0-9]", found.group(1)):
            yield found.span(1)
    for found in _BASIC.finditer(text):
        if _is_login(found.group(1)):
            yield found.span(1)
    for found in _PASSWORD.finditer(text):
        if _is_password(found):
            yield found.span("value")


def _is_login(base64: str) -> bool:
    """Whether this spells `user:password`, as RFC 7617 has it: `Basic information` does not."""
    base64 = base64.rstrip("=")
    return len(base64) % 4 != 1 and b":" in b64decode(base64 + "=" * (-len(base64) % 4))


def _is_password(found: re.Match[str]) -> bool:
    """Code and settings say `password=self.password` and `PWD=/srv`: those are not secrets."""
    value = found["value"]
    if _CODE_WORD.fullmatch(value) or value[0] in "/.~\\":
        return False
    if found["quote"] and found["sign"] == "=":
        return True
    if found["quote"] == found["named"] == "'":  # a dictionary as Python prints it
        return True
    return re.search(r"[0-9!@#^+?]", value) is not None
