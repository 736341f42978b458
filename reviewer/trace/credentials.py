"""Credentials: tokens of known form, and values that are called a password, a token or a key.

`prefilter` holds a looser byte pattern for each: widen it whenever one here is widened.
"""

import re
from base64 import b64decode
from collections.abc import Iterator
from functools import lru_cache

from reviewer.trace import late
from reviewer.trace.rules import is_placeholder

# A value that is called a password, a token or a key where it is.
#
# Settings, headers, command lines, parameters of an address, members of an object and files with
# logins (netrc, pgpass) name their values. The name alone proves nothing: `max_tokens=100`
# is a number, `token = get_token()` is code, `Authorization: required` is prose. So each value is
# checked as well. `prefilter` holds looser patterns: widen them with these.


_OWNERS = (
    *("access", "account", "admin", "api", "app", "application", "auth", "aws", "azure", "bot"),
    *("bucket", "client", "cloud", "consumer", "credential", "crypto", "database", "db"),
    *("deploy", "developer", "encryption", "endpoint", "function", "functions", "global"),
    *("hash", "hmac", "iam", "integration", "jwt", "lambda", "license", "licence", "live"),
    *("master", "personal", "priv", "private", "prod", "project", "rest", "root", "sandbox"),
    *("secret", "send", "server", "service", "session", "shared", "sign", "signing", "ssh"),
    *("storage", "subscription", "super", "system", "vault", "webhook", "write", "zone"),
    *("adafruit", "adobe", "airtable", "algolia", "alibaba", "anthropic", "asana", "atlassian"),
    *("beamer", "bitbucket", "brevo", "cerebras", "cloudflare", "cloudinary", "cohere"),
    *("confluent", "contentful", "datadog", "dd", "deepgram", "deepl", "deepseek", "discord"),
    *("dropbox", "elevenlabs", "facebook", "fastly", "figma", "firebase", "fireworks"),
    *("github", "gitlab", "gemini", "google", "groq", "heroku", "hubspot", "huggingface", "hf"),
    *("intercom", "jira", "kraken", "langfuse", "langsmith", "linear", "llm", "mailchimp"),
    *("mailgun", "mapbox", "mistral", "mongo", "netlify", "newrelic", "relic", "notion"),
    *("okta", "openai", "openrouter", "paypal", "perplexity", "pinecone", "postgres"),
    *("postmark", "redis", "replicate", "sendgrid", "sentry", "serpapi", "shopify", "slack"),
    *("snyk", "sonar", "square", "stripe", "supabase", "tavily", "telegram", "together"),
    *("twilio", "twitter", "vercel", "wandb", "weaviate", "xai", "yandex", "zendesk"),
)  # fmt: skip
"""Owners of a key; the second part are services whose keys have no form of their own."""
_NAME = (
    r"(?i:token|secret|passw(?:or)?d|passphrase|passcode|pwd|credentials?|contrase(?:ñ|n)a|jwt"
    r"|(?<=[A-Za-z_. -])key(?:s|_base)?[0-9]?|(?<![0-9A-Za-z])pass|(?<![0-9A-Za-z])pw|_auth|sessid"
    r"|jsessionid)"
)
_SIGN = r"[ \t]{0,8}(?:=>|:=|==?|:)[ \t]{0,8}(?:\r?\n[ \t]{0,40})?"
_QUOTES = r"(?:\\*[\"'`])?"
_BARE = r"[^\x00-\x20\x7f-\U0010ffff\"'`,;<>(){}\[\]|&\\]"

_ASSIGNED = late(
    rf"(?P<name>{_NAME})(?P<close>\\*[\"'`]|[\])]{{1,2}})?(?P<sign>{_SIGN})(?P<open>\\*[\"'`])?"
    rf"(?P<value>(?:(?i:bearer|basic|token|apikey) +)?{_BARE}{{6,}})(?P<behind>[(\[]?)"
)
_SAID = late(
    rf"(?:{_NAME}|(?<![A-Za-z])(?i:key))(?: (?:is|was|will be|set to|equals))"
    rf"[:=]? {{0,2}}[*_]{{0,2}}(?P<open>[\"'`])?(?P<value>{_BARE}{{6,}})"
)
_PHRASE = late(
    rf"(?i:passphrase)(?:\\*[\"'])?{_SIGN}(?P<open>\\*[\"'])(?P<value>[^\"'\r\n\\<>{{}}]{{8,120}})"
    r"(?=\\*[\"'])"
)
_OPTION = late(
    rf"(?<![0-9A-Za-z-])--?(?P<name>[A-Za-z0-9-]*?{_NAME})(?:=|[ \t]+){_QUOTES}"
    rf"(?P<value>{_BARE}{{6,}})"
)
_ELEMENT = late(
    rf"<(?P<name>[A-Za-z0-9_.:-]*?{_NAME})>[ \t\r\n]*(?P<value>{_BARE}{{6,200}})[ \t\r\n]*</"
    rf"|(?i:key|name)=\\*[\"'](?P<named>[A-Za-z0-9_.:-]*?{_NAME})\\*[\"'][ \t\r\n]+"
    r"(?i:value)=\\*[\"'](?P<held>[^\"'\\]{6,200})"
)
_PARAMETER = late(
    r"(?<=[?&;])(?i:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|key|code"
    r"|hmac|auth|authkey|st|sas)=(?P<value>[A-Za-z0-9%+/=_.~-]{16,})"
)
_HEADER = late(
    r"(?<![0-9A-Za-z])(?i:(?P<cookie>(?:set-)?cookie2?)|(?:proxy-|x-[a-z-]{0,20})?authorization"
    r"|www-authenticate-token|x-[a-z-]{0,30}(?:api-?key|token|auth|secret|signature)|api-key|apikey"
    r"|(?:private|job|deploy)-token|ocp-apim-subscription-key|x-functions-key|x-goog-api-key"
    r"|php-auth-pw)\\*[\"']?[ \t]{0,2}[:=][ \t]{0,4}(?P<open>\\*[\"'])?"
    r"(?P<value>[ !#-&(-;=?-\[\]-z|~]{6,8000})"
)
_COOKIE = late(r"[^\s=;,]{1,120}=\"?([^\s;,\"]{4,})")
_SCHEME = late(
    r"(?i:bearer|basic|digest|token|apikey|api-key|key|ssws|geniekey|bot|negotiate|hawk|oauth|hmac"
    r"|aws4-hmac-sha256|sharedaccesssignature|sharedkey(?:lite)?|splunk|klaviyo-api-key)[ :=]+"
)
_COMMANDS = (
    # an option that some commands take a login or a password by
    (r"curl|wget|http|https|xh|lftp|rclone", r"-u|-U|--user|--proxy-user|--auth|-a", True),
    (r"smbclient|rpcclient|net", r"-U|--user", True),
    (r"mysql|mysqldump|mysqladmin|mariadb|mongo(?:sh|dump|restore)?", r"-p", False),
    (
        r"sshpass|docker|podman|helm|oc|az|htpasswd|skopeo|buildah|crane|cf|ibmcloud",
        r"-p|-b \S+ \S+",
        False,
    ),
    (r"redis-cli|memcached", r"-a", False),
    (r"ldap[a-z]+", r"-w", False),
    (r"sqlcmd|bcp|isql", r"-P", False),
    (r"openssl|keytool|gpg", r"-(?:pass(?:in|out)? pass:|k |storepass |keypass )", False),
)  # fmt: skip
_COMMAND = late(
    "|".join(
        rf"(?<![0-9A-Za-z_.-])(?:{names})(?= )(?:[^\r\n|;]|\\\r?\n){{0,400}}? (?:{options})"
        r"(?:=|[ \t]*)"
        rf"\\*[\"']?(?P<{'login' if login else 'password'}{n}>[!#-&(-:<-\[\]-{{}}~]{{4,}})"
        for n, (names, options, login) in enumerate(_COMMANDS)
    )
)
_GAP = r"(?:[ \t\r\n]|\\+[nrt])+"
_NETRC = late(
    rf"(?<![0-9A-Za-z])login{_GAP}[!-~]+?{_GAP}(?:account{_GAP}[!-~]+?{_GAP})?password{_GAP}"
    r"(?P<value>[!#-&(-\[\]-~]{4,})"
)
_PGPASS = late(
    r"(?<![A-Za-z0-9_.*:/-])[A-Za-z0-9_.*-]+:(?:543[0-9]|6432|\*):[A-Za-z0-9_*.-]+:"
    r"[A-Za-z0-9_*.@-]+:(?P<value>[!#-&(-9;-\[\]-~]{4,})"
)
_URL_USER = late(
    r"[A-Za-z][A-Za-z0-9+.-]{1,30}://(?P<value>[A-Za-z0-9_%.~-]{16,}):?@(?=[A-Za-z0-9])"
)
_LOGIN = late(
    r"(?i:auth|basic)\\*[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\*[\"']?"
    r"(?P<value>[A-Za-z0-9+/]{8,}={0,2})(?![0-9A-Za-z])"
)

_PRIOR = late(r"[A-Za-z0-9_\-.]*\Z")
_WORDS = late(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_NOT_OF = frozenset(
    (
        *("page", "next", "continuation", "cursor", "pagination", "previous", "prev", "resume"),
        *("eos", "bos", "pad", "unk", "cls", "sep", "mask", "stop", "start", "end", "special"),
        *("max", "min", "num", "per", "total", "public", "first", "last", "delta", "count"),
        *("order", "cancellation", "pub", "cache", "syncs", "watch", "scroll", "idempotency"),
    )
)
"""Words before `token` or `key` by which it is neither a secret nor a key."""
_CODE = late(
    r"(?:[A-Za-z_]\w{0,40}|\$\w+)(?:(?:\.|::|->)[A-Za-z_]\w{0,40})+"
    r"|[a-z]+[0-9]{0,2}(?:[_-](?:[a-z]+[0-9]?|v?[0-9]{1,2}))*|[A-Z]+(?:_(?:[A-Z]+|V?[0-9]{1,3}))*|(?:[A-Z][a-z]+)+[0-9]{0,2}"
)
_PLAIN = late(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*|(?i:https?|file|s3|gs|arn|env|vault|secretsmanager)://?.*"
    r"|arn:aws.*|[0-9.,]{1,9}[A-Za-z%]{0,4}|\.{1,2}/.*|~/.*|/(?:[a-z0-9_.-]+/)+.*"
    r"|.*\.(?:json|ya?ml|txt|pem|py|env)|(?i:your|my|the|some|example|dummy|placeholder|insert|replace|enter|xxx+|todo)[_-].*|x{4,}.*"
)


def assigned(text: str) -> Iterator[tuple[int, int]]:
    """Yield half-open spans of every value that is called a secret, in no order; they may
    overlap."""
    for found in _ASSIGNED.finditer(text):
        if not found["behind"] and _named(text, *found.span("name")) and _secret(found["value"]):
            yield _quoted(found) or _trimmed(found, "value")
    for pattern in (_SAID, _OPTION, _PARAMETER, _URL_USER):
        for found in pattern.finditer(text):
            if _secret(found["value"]):
                yield _trimmed(found, "value")
    for found in _PHRASE.finditer(text):
        if " " in found["value"] and not _harmless(found["value"]):
            yield found.span("value")
    for found in _ELEMENT.finditer(text):
        group = "value" if found["value"] is not None else "held"
        if _secret(found[group]):
            yield found.span(group)
    for found in _HEADER.finditer(text):
        yield from _header(found)
    for found in _COMMAND.finditer(text):
        group = found.lastgroup or ""
        value = found[group]
        if group.startswith("login"):
            value = re.split("[:%]", value, maxsplit=1)[1] if re.search("[:%]", value) else ""
        if len(value) >= 4 and not _harmless(value):
            yield found.end(group) - len(value), found.end(group)
    for pattern in (_NETRC, _PGPASS):
        for found in pattern.finditer(text):
            if not _harmless(found["value"]):
                yield found.span("value")
    for found in _LOGIN.finditer(text):
        if is_login(found["value"]):
            yield found.span("value")


def is_credential(name: str, value: str) -> bool:
    """Return whether a member of this name holds a secret: `token`, `AccountKey`, docker's
    `auth`."""
    if len(name) > 200 or not 6 <= len(value) <= 100_000:
        return False
    if name.lower() == "auth":
        return is_login(value)
    if not _of_secret(name):
        return False
    return _PLAIN_HEAD.match(value) is not None and _secret(value)


@lru_cache(maxsize=4096)
def _of_secret(name: str) -> bool:
    """Return whether a member is named as a secret is, with the name that is its last."""
    found = _LAST.search(name)
    return found is not None and _named(name, *found.span())


_PLAIN_HEAD = late(rf"{_BARE}{{6,40}}(?!\s)")
_LAST = late(rf"{_NAME}\Z")


def _named(text: str, at: int, end: int) -> bool:
    """Return whether the name that ends in text[at:end] is that of a secret: no page, count or
    mark, and a key of somebody."""
    prior = _PRIOR.search(text, max(0, at - 60), at)
    before = prior.group().rstrip("_-. ") if prior is not None else ""
    words = _WORDS.findall(before)
    last = words[-1].lower() if words else ""
    word = text[at:end].lower()
    if word.startswith("key"):
        return before.lower().endswith(_OWNERS) and last not in _NOT_OF
    return last not in _NOT_OF


def _quoted(found: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of a value in quotes, which may hold characters that no bare value holds."""
    start, end = found.span("value")
    rest = _TO_QUOTE[found["open"][-1]].match(found.string, end) if found["open"] else None
    return (start, rest.end()) if rest is not None else None


_TO_QUOTE = {quote: late(rf"[^\s{quote}\\]{{0,300}}+(?=\\*{quote})") for quote in "\"'`"}


def _trimmed(found: re.Match[str], group: str) -> tuple[int, int]:
    start = found.start(group)
    return start, start + len(found[group].rstrip(".,;:!?*_"))


def _header(found: re.Match[str]) -> Iterator[tuple[int, int]]:
    value = found["value"].rstrip()
    start = found.start("value")
    if found["cookie"] is not None:
        if any(not _harmless(cookie) for cookie in _COOKIE.findall(value)):
            yield start, start + len(value)
        return
    if "(" in value:
        return
    scheme = _SCHEME.match(value)
    said = value[scheme.end() :] if scheme is not None else value
    basic = scheme is not None and scheme.group().lower().startswith("basic")
    start += len(value) - len(said)
    for part in re.finditer(r"[^\s,]+", said):
        if _secret(part.group()) or (basic and is_login(part.group())):
            yield start + part.start(), start + part.end()


def is_login(base64: str) -> bool:
    """Return whether this spells a printable `user:password` (RFC 7617)."""
    base64 = base64.rstrip("=")
    if len(base64) % 4 == 1 or re.search(r"[^A-Za-z0-9+/]", base64):
        return False
    plain = b64decode(base64 + "=" * (-len(base64) % 4))
    user, colon, password = plain.partition(b":")
    return bool(user and colon and password) and all(32 <= byte < 127 for byte in plain)


def _harmless(value: str) -> bool:
    """Return whether this is a placeholder or a word of code, not a value."""
    return (
        is_placeholder(value)
        or value[0] in "$%<{[(*"
        or value.startswith(("[REDACTED", "\\"))
        or _WORD_OF_CODE.fullmatch(value) is not None
    )


_WORD_OF_CODE = late(
    r"boolean|false|null|none|nil|optional|pass|passwd|password|redacted|required|secret|self|string"
    r"|str|true|undefined|unknown|value|user|username|token|deleted|expired|accepted|enabled|disabled",
    re.IGNORECASE,
)


def _secret(value: str) -> bool:
    """Return whether a value that is called a secret could be one: it has letters and digits, and
    is no date, path, name in code, or placeholder."""
    value = re.sub(r"\A(?i:bearer|basic|token|apikey) +", "", value).rstrip(".,;:!?*_")
    if len(value) < 8 or _harmless(value):
        return False
    head = value[:HEAD]
    if not re.search("[0-9]", head):
        if len(value) < LETTERS or re.fullmatch("[A-Za-z+/=]+", value) is None:
            return False
        changes = len(_CASE_CHANGES.findall(value))
        return (len(value) >= 2 * LETTERS and changes < 2) or len(value) <= 2.4 * changes
    if not re.search("[A-Za-z]", value):
        return len(value) >= LETTERS and value.isdigit()
    return _CODE.fullmatch(value) is None and _PLAIN.fullmatch(value) is None


HEAD = 40
"""A secret with a digit has one among this many characters."""
LETTERS = 16
"""Letters alone are a secret from this length on where their case changes more often than in names
of code (`ReadOnlyPasswordHashField`), and from twice this length on where it never does; digits
alone from this length on."""
_CASE_CHANGES = late("[a-z](?=[A-Z])|[A-Z](?=[a-z])")


# The detector `secret`: tokens of known form, keys and passwords by their names.
#
# `prefilter` holds a looser byte pattern for each: widen it whenever one here is widened.


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
    """Yield half-open spans of every credential in the text, in no order; they may overlap."""
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
    """Return whether this spells `user:password`, as RFC 7617 has it: `Basic information` does
    not."""
    base64 = base64.rstrip("=")
    return len(base64) % 4 != 1 and b":" in b64decode(base64 + "=" * (-len(base64) % 4))


def _is_password(found: re.Match[str]) -> bool:
    """Return whether the value is a password: not so in `password=self.password` and `PWD=/srv`."""
    value = found["value"]
    if _CODE_WORD.fullmatch(value) or value[0] in "/.~\\":
        return False
    if found["quote"] and found["sign"] == "=":
        return True
    if found["quote"] == found["named"] == "'":  # a dictionary as Python prints it
        return True
    return re.search(r"[0-9!@#^+?]", value) is not None
