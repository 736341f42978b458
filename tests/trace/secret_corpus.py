"""Seeded texts with secrets and identifiers: kind × disguise × place where it stands.

Every value is drawn at random in the form that its vendor or standard publishes; none was ever
issued. `texts` gives a text with the raw strings that must not be left of it, in any of its parts.
"""

import json
import random
import string
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


class Held(NamedTuple):
    """A text that holds something; `raw` are the strings of which none may be left."""

    kind: str
    place: str
    text: str
    raw: tuple[str, ...]


def _draw(rng: random.Random, alphabet: str, length: int) -> str:
    drawn = "".join(rng.choice(alphabet) for _ in range(length))
    if alphabet is not HEX and not any(c.isdigit() for c in drawn):
        drawn = drawn[:-3] + "7" + drawn[-2:]
    return drawn


def _uuid(rng: random.Random) -> str:
    return "-".join(_draw(rng, HEX, n) for n in (8, 4, 4, 4, 12))


def _form(
    prefix: str, alphabet: str, *lengths: int, by: str = ""
) -> Callable[[random.Random], str]:
    return lambda rng: prefix + by.join(_draw(rng, alphabet, n) for n in lengths)


UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
WORD = ALNUM + "_-"
BASE64 = ALNUM + "+/"

TOKENS: dict[str, Callable[[random.Random], str]] = {
    "slack webhook": lambda rng: (
        f"https://hooks.slack.com/services/T{_draw(rng, UPPER, 10)}/B{_draw(rng, UPPER, 10)}/"
        + _draw(rng, ALNUM, 24)
    ),
    "slack app": lambda rng: (
        f"xapp-1-A{_draw(rng, UPPER, 10)}-{rng.randrange(10**12, 10**13)}-{_draw(rng, HEX, 64)}"
    ),
    "slack bot": lambda rng: (
        f"xoxb-{rng.randrange(10**11, 10**12)}-{rng.randrange(10**11, 10**12)}-"
        + _draw(rng, ALNUM, 24)
    ),
    "slack cookie": _form("xoxd-", ALNUM, 60),
    "telegram": lambda rng: f"{rng.randrange(10**8, 10**10)}:AA{_draw(rng, WORD, 32)}7",
    "age": _form("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "sendgrid": _form("SG.", ALNUM, 22, 43, by="."),
    "twilio key": _form("SK", HEX, 32),
    "twilio account": _form("AC", HEX, 32),
    "discord bot": lambda rng: (
        f"MT{_draw(rng, ALNUM, 24)}.{_draw(rng, ALNUM, 6)}.{_draw(rng, ALNUM, 38)}"
    ),
    "discord webhook": lambda rng: (
        f"https://discord.com/api/webhooks/{rng.randrange(10**17, 10**18)}/{_draw(rng, ALNUM, 68)}"
    ),
    "groq": _form("gsk_", ALNUM, 52),
    "xai": _form("xai-", ALNUM, 80),
    "pypi": _form("pypi-AgEIcHlwaS5vcmc", WORD, 120),
    "perplexity": _form("pplx-", ALNUM, 48),
    "replicate": _form("r8_", ALNUM, 37),
    "hugging face": _form("hf_", ALNUM, 34),
    "openai": lambda rng: f"sk-proj-{_draw(rng, ALNUM, 40)}T3BlbkFJ{_draw(rng, ALNUM, 40)}",
    "anthropic": _form("sk-ant-api03-", WORD, 93),
    "github": _form("ghp_", ALNUM, 36),
    "github app": _form("ghs_", ALNUM, 36),
    "github fine": lambda rng: f"github_pat_{_draw(rng, ALNUM, 22)}_{_draw(rng, ALNUM, 59)}",
    "gitlab": _form("glpat-", ALNUM, 20),
    "gitlab runner": _form("glrt-", ALNUM, 20),
    "gitlab trigger": _form("glptt-", HEX, 40),
    "gitlab deploy": _form("gldt-", ALNUM, 20),
    "aws id": _form("AKIA", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
    "bedrock": _form("ABSK", BASE64, 110),
    "google oauth": _form("ya29.", WORD, 80),
    "google secret": _form("GOCSPX-", ALNUM, 28),
    "google key": _form("AIzaSy", ALNUM, 33),
    "stripe": _form("sk_live_", ALNUM, 24),
    "stripe restricted": _form("rk_live_", ALNUM, 99),
    "stripe webhook": _form("whsec_", ALNUM, 32),
    "shopify": _form("shpat_", HEX, 32),
    "square": _form("sq0csp-", ALNUM, 43),
    "mailchimp": lambda rng: f"{_draw(rng, HEX, 32)}-us{rng.randrange(1, 21)}",
    "mailgun": _form("key-", HEX, 32),
    "heroku": _form("HRKU-AA", ALNUM, 58),
    "digitalocean": _form("dop_v1_", HEX, 64),
    "databricks": _form("dapi", HEX, 32),
    "new relic": _form("NRAK-", UPPER, 27),
    "sentry": _form("sntryu_", HEX, 64),
    "linear": _form("lin_api_", ALNUM, 40),
    "notion": _form("ntn_", ALNUM, 46),
    "notion secret": _form("secret_", ALNUM, 43),
    "figma": _form("figd_", ALNUM, 40),
    "postman": _form("PMAK-", HEX, 24, 34, by="-"),
    "atlassian": _form("ATATT3xFfGF0", WORD, 180),
    "doppler": _form("dp.pt.", ALNUM, 43),
    "vault": _form("hvs.", ALNUM, 95),
    "terraform": lambda rng: f"{_draw(rng, ALNUM, 14)}.atlasv1.{_draw(rng, ALNUM, 67)}",
    "pulumi": _form("pul-", HEX, 40),
    "fly": _form("fm2_", BASE64, 140),
    "netlify": _form("nfp_", ALNUM, 40),
    "supabase": _form("sbp_", HEX, 40),
    "planetscale": _form("pscale_tkn_", ALNUM, 43),
    "npm": _form("npm_", ALNUM, 36),
    "rubygems": _form("rubygems_", HEX, 48),
    "crates": _form("cio", ALNUM, 32),
    "nuget": _form("oy2", LOWER, 43),
    "docker": _form("dckr_pat_", ALNUM, 27),
    "grafana": lambda rng: f"glsa_{_draw(rng, ALNUM, 32)}_{_draw(rng, HEX, 8)}",
    "facebook": _form("EAA", ALNUM, 120),
    "hubspot": lambda rng: f"pat-na1-{_uuid(rng)}",
    "airtable": lambda rng: f"pat{_draw(rng, ALNUM, 14)}.{_draw(rng, HEX, 64)}",
    "azure client": lambda rng: f"{_draw(rng, ALNUM, 3)}8Q~{_draw(rng, ALNUM, 34)}",
    "azure storage": lambda rng: f"{_draw(rng, ALNUM, 76)}+ASt{_draw(rng, ALNUM, 5)}Q==",
    "azure devops": lambda rng: f"{_draw(rng, ALNUM, 76)}AZDO{_draw(rng, ALNUM, 4)}",
    "jwt": lambda rng: (
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
        f"eyJzdWIiOiI{_draw(rng, ALNUM, 30)}.{_draw(rng, WORD, 43)}"
    ),
    "linkedin": _form("AQV", WORD, 160),
    "dropbox": _form("sl.", WORD, 136),
    "bcrypt": lambda rng: f"$2b$12${_draw(rng, ALNUM + './', 53)}",
    "openshift": _form("sha256~", WORD, 43),
    "langsmith": lambda rng: f"lsv2_pt_{_draw(rng, HEX, 32)}_{_draw(rng, HEX, 10)}",
}  # fmt: skip

_PEM = ("RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "")


def _pem(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    name = rng.choice(_PEM)
    lines = [_draw(rng, BASE64, 64) for _ in range(4)]
    head = rng.choice(("", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n"))
    body = "\n".join(lines)
    text = f"-----BEGIN {name}PRIVATE KEY-----\n{head}{body}\n-----END {name}PRIVATE KEY-----"
    return text, tuple(lines)


def _pgp(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    lines = [_draw(rng, BASE64, 64) for _ in range(3)]
    block = "PGP PRIVATE KEY BLOCK"
    body = "\n".join(lines)
    return f"-----BEGIN {block}-----\nVersion: 2.4\n\n{body}\n=aB3d\n-----END {block}-----", tuple(
        lines
    )


def _putty(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    lines = [_draw(rng, BASE64, 64) for _ in range(3)]
    body = "\n".join(lines)
    return (
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: key\n"
        f"Private-Lines: 3\n{body}\nPrivate-MAC: {_draw(rng, HEX, 64)}",
        tuple(lines),
    )


def _assigned(rng: random.Random) -> Iterator[tuple[str, str, str]]:
    """(kind, text, the value) of everything that is a secret by what it is called."""
    s = _draw(rng, ALNUM, rng.choice((16, 24, 32, 40)))
    hexed = (
        _draw(rng, HEX, 32)[:-1] + "7" if rng.random() < 0.5 else "a" + _draw(rng, HEX, 30) + "7"
    )
    login = "svc" + _draw(rng, string.ascii_lowercase, 4)
    word = _draw(rng, ALNUM, 10) + "#5"
    base64 = b64encode(f"{login}:{s}".encode()).decode()
    yield "aws", f"AWS_SECRET_ACCESS_KEY={_draw(rng, BASE64, 39)}7", ""
    yield "token", f"token={s}", s
    yield "env", f"export ACME_API_TOKEN='{s}'", s
    yield "env", f"DATADOG_KEY={hexed}", hexed
    yield "env", f"COHERE_API_KEY={s}", s
    yield "env", f"SMTP_PASS={word}", word
    yield "env", f"HEROKU_API_KEY={(u := _uuid(rng))}", u
    yield "yaml", f"accessToken: {s}", s
    yield "yaml", f'client-secret: "{s}"', s
    yield "toml", f'signing_key = "{s}"', s
    yield "code", f'const authToken = "{s}";', s
    yield "code", f"'db_password' => '{word}'", word
    yield "header", f"Cookie: theme=dark; session={s}", s
    yield "header", f"Set-Cookie: sid={s}; Path=/; HttpOnly; Secure", s
    yield "header", f"X-Api-Key: {s}", s
    yield "header", f"X-Auth-Token: {hexed}", hexed
    yield "header", f"Authorization: Bearer {s}", s
    yield "header", f"Authorization: Token {hexed}", hexed
    yield "header", f"Authorization: Basic {base64}", base64
    yield "header", f"Proxy-Authorization: Basic {base64}", base64
    yield "header", f"Private-Token: {s}", s
    yield "header", f"Ocp-Apim-Subscription-Key: {hexed}", hexed
    yield "command", f"curl -u {login}:{word} https://api.example.com", word
    yield "command", f"curl -s --user '{login}:{word}' https://api.example.com/v1", word
    yield "command", f'curl -H "X-Vault-Token: {s}" https://vault.example.com', s
    yield "command", f"mysql -h db -u root -p{s} shop", s
    yield "command", f"sshpass -p {s} ssh root@db", s
    yield "command", f"docker login -u {login} -p {s} registry.example.com", s
    yield "command", f"helm upgrade app --set x=1 --password {s}", s
    yield "command", f"redis-cli -h cache -a {s} ping", s
    yield "command", f"deploy --token {s} --yes", s
    yield "command", f"PGPASSWORD={word} psql -h db", word
    yield "netrc", f"machine api.example.com login {login} password {word}", word
    yield "netrc", f"machine api.example.com\n  login {login}\n  password {word}\n", word
    yield "pgpass", f"db.example.com:5432:shop:{login}:{s}", s
    yield "url", f"https://api.example.com/v1/items?token={s}&page=2", s
    yield "url", f"https://api.example.com/cb?api_key={s}#top", s
    yield (
        "url",
        f"https://x.blob.core.windows.net/c/b?sv=2022-11-02&sr=b&sig={_draw(rng, ALNUM, 41)}7%3D",
        "",
    )
    yield "url", f"postgres://{login}:{s}@db.example.com/shop", s
    yield "url", f"https://{s}@sentry.example.com/42", s
    yield "url", f"https://b.s3.amazonaws.com/k?X-Amz-Signature={_draw(rng, HEX, 64)}", ""
    yield (
        "connection",
        f"AccountName=shop;AccountKey={_draw(rng, BASE64, 86)}==;EndpointSuffix=x",
        "",
    )
    yield (
        "connection",
        f"Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey={_draw(rng, BASE64, 43)}=",
        "",
    )
    yield "connection", f"Server=db;User Id={login};Password={word};", word
    yield "npmrc", f"//registry.example.com/:_authToken={s}", s
    yield "docker config", json.dumps({"auths": {"x": {"auth": base64}}}), base64
    yield "xml", f"<password>{s}</password>", s
    yield "xml", f'<add key="ClearTextPassword" value="{s}" />', s
    yield "prose", f"the token is {s}.", s
    yield "prose", f"my password is `{word}`", word
    yield "member", json.dumps({"token": s}), s
    yield "member", json.dumps({"AccountKey": f"{s}=="}), s
    yield "member", json.dumps({"user": login, "authToken": hexed}), hexed


def luhn(digits: str) -> str:
    """The digits with the check digit behind."""
    total = sum(sum(divmod(int(d) * (2 - i % 2), 10)) for i, d in enumerate(reversed(digits)))
    return digits + str(-total % 10)


def _numbers(rng: random.Random) -> tuple[str, str]:
    card = luhn("4" + _draw(rng, string.digits, 14))
    area, line = rng.randrange(201, 989), rng.randrange(2000, 9999)
    area += area % 100 == 11
    return rng.choice(
        (
            ("card", card),
            ("card", " ".join(card[i : i + 4] for i in range(0, 16, 4))),
            ("card", "-".join(card[i : i + 4] for i in range(0, 16, 4))),
            ("phone", f"+1{area}{rng.randrange(201, 989)}{line}"),
            ("phone", f"+44 20 7{rng.randrange(100, 999)} {line}"),
            ("ssn", f"{rng.randrange(100, 665)}-{rng.randrange(10, 99)}-{line}"),
            (
                "ip",
                f"{rng.randrange(33, 99)}.{rng.randrange(1, 255)}.{rng.randrange(1, 255)}."
                f"{rng.randrange(40, 255)}",
            ),
        )
    )  # fmt: skip


_ALPHABETS = {
    "arabic": 0x660, "persian": 0x6F0, "devanagari": 0x966, "bengali": 0x9E6, "thai": 0xE50,
    "bold": 0x1D7CE, "double-struck": 0x1D7D8, "monospace": 0x1D7F6, "full-width": 0xFF10,
}  # fmt: skip


def _disguises(rng: random.Random, number: str) -> Iterator[tuple[str, str]]:
    """(how, the number in that disguise)."""
    middle = rng.randrange(4, len(number) - 3)
    while not (number[middle - 1].isdigit() and number[middle].isdigit()):
        middle = rng.randrange(2, len(number) - 1)
    left, right = number[:middle], number[middle:]
    yield "underscores", f"ref_{number}_x"
    for name, zero in _ALPHABETS.items():
        yield name, "".join(chr(zero + int(c)) if c in string.digits else c for c in number)
    yield "percent", number.replace("+", "%2B").replace(" ", "%20").replace("-", "%2D")
    yield "percent digits", "".join(f"%3{c}" if c in string.digits else c for c in number)
    yield "entities", "".join(f"&#{ord(c)};" for c in number)
    yield "hex entities", f"{left[:-1]}&#x{ord(left[-1]):X};{right}"
    yield "named entities", number.replace("+", "&plus;").replace(" ", "&nbsp;")
    yield "color", f"\x1b[1;31m{left}\x1b[0m{right}\x1b[0m"
    yield "color as text", f"{left}\\x1b[0m{right}"
    yield "bold markdown", f"{left}**{right}**"
    yield "code markdown", f"{left}`{right}`"
    yield "tags", f"{left}<b>{right}</b>"
    yield "joiner", f"{left}\u200d{right}"


def _places(rng: random.Random, text: str) -> Iterator[tuple[str, str]]:
    """(where, the text with all around it)."""
    yield "prose", f"I noted {text} for you. Is there anything else?"
    yield "line", text
    yield "log", f"2026-01-05T10:00:00.123Z INFO worker-3 got {text}"
    yield "json", json.dumps({"result": text, "n": 1})
    yield "json in json", json.dumps({"body": json.dumps({"note": text}), "status": 200})
    yield "escaped", json.dumps({"result": json.dumps(text)}, ensure_ascii=True)
    yield "list", f"- first\n- {text}\n- last"


def texts(seed: int = 18, rounds: int = 3) -> Iterator[Held]:
    """Every kind in every disguise, each in places drawn at random."""
    rng = random.Random(seed)
    for _ in range(rounds):
        for kind, make in TOKENS.items():
            token = make(rng)
            place, text = rng.choice(list(_places(rng, token)))
            yield Held(kind, place, text, (token.split("/")[-1][-16:],))
            wrapped = f"\x1b[32m{token}\x1b[0m" if rng.random() < 0.5 else f"`{token}`"
            yield Held(f"{kind}, marked", "line", f"key {wrapped}", (token.split("/")[-1][-16:],))
        for make_block in (_pem, _pgp, _putty):
            block, lines = make_block(rng)
            place, text = rng.choice(list(_places(rng, block)))
            yield Held(make_block.__name__, place, text, lines)
        for kind, text, value in _assigned(rng):
            raw = (value or text.split("=", 1)[1].rpartition("=")[2] or text[-24:-8],)
            if not value:
                raw = (text[text.index("=") + 1 :][:12] if kind == "aws" else _last(text),)
            for place, whole in rng.sample(list(_places(rng, text)), 2):
                yield Held(kind, place, whole, raw)
        for _ in range(6):
            kind, number = _numbers(rng)
            for how, shown in _disguises(rng, number):
                if how == "tags" and kind == "ip":
                    continue
                place, text = rng.choice(list(_places(rng, shown)))
                yield Held(f"{kind}, {how}", place, text, (shown,))


def _last(text: str) -> str:
    """Characters of the value in the last parameter that is a key or a signature."""
    for name in ("AccountKey=", "SharedAccessKey=", "sig=", "Signature="):
        if name in text:
            return text.split(name)[-1][:24]
    raise ValueError(text)


HARMLESS = (
    "550e8400-e29b-41d4-a716-446655440000",
    "9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "commit d41d8cd98f00b204e9800998ecf8427e",
    "v1.2.3",
    "1.2.3.4",
    "version 10.4.2.1",
    "numpy==1.26.4",
    "lodash@4.17.21",
    "OID 1.3.6.1.4.1.311",
    "2026-01-05",
    "2026-01-05T10:00:00.123Z",
    "10:00:00",
    "1700000000000",
    "$1,299.99",
    "EUR 12.50",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
    "order ORD-20260105-0042",
    "ord_0f2a74b1",
    "order_id: 114-3941689-8772232",
    "SKU 0012-3345-8821",
    "token_count: 12",
    "max_tokens=100",
    "tokens: 512",
    '"usage": {"total_tokens": 4096}',
    "prompt_tokens=1532 completion_tokens=88",
    "Authorization: required",
    "Authorization: Bearer <token>",
    "password=self.password",
    "password = ReadOnlyPasswordHashField",
    "token = get_token()",
    'os.environ["TOKEN"]',
    'token = os.getenv("API_TOKEN")',
    "api_key=config.api_key",
    "secret = load_secret(name)",
    "password: str = Field(min_length=8)",
    "def login(user: str, password: str) -> Token:",
    "if token is None: raise AuthError",
    "next_page_token: CAUQAA12",
    'nextToken="a1b2c3d4e5f6g7h8"',
    "page_token=a1b2c3d4e5f6",
    "eos_token: <|endoftext|>",
    "pad_token=[PAD]",
    "token: Hello",
    '{"token": " the", "logprob": -0.25}',
    "public_key=a1b2c3d4e5f6a7b8",
    "cache_key: user-42-v3",
    "primary_key=customer_id",
    "sort key: created_at",
    "gpt-4o-mini-2024-07-18",
    "claude-3-5-sonnet-20241022",
    "model: meta-llama/Llama-3.1-70B-Instruct",
    "localhost:8080",
    "127.0.0.1",
    "http://127.0.0.1:5000/api",
    "0.0.0.0:8000",
    "10.1.2.3",
    "172.16.4.9",
    "192.168.1.254",
    "192.0.2.44",
    "198.51.100.7",
    "203.0.113.99",
    "169.254.169.254",
    "255.255.255.255",
    "::1",
    "fe80::1ff:fe23:4567:890a",
    "2001:db8::8a2e:370:7334",
    "Mozilla/5.0 Chrome/120.0.0.0 Safari/537.36",
    "std::vector<int>::iterator",
    "a = 2**10 + 3*4",
    "${DB_PASSWORD}",
    "password=$DB_PASSWORD",
    "token=<YOUR_TOKEN>",
    "API_KEY=your-api-key-here",
    "password: ********",
    "secret=[REDACTED]",
    "Cookie: accepted",
    "cookies are required",
    "curl -u user https://x",
    "git commit -a -m 'x'",
    "grep -P '[0-9]+' file",
    "mkdir -p /srv/app/data1",
    "ls -a /etc",
    "python -u main.py:12",
    "test_tokens_are_counted_correctly_2",
    "the token is required",
    "password is incorrect",
    "your password was reset",
    "user_id=123e4567-e89b-12d3-a456-426614174000",
    "session_id: 3f2a9c1e-5b7d-4e8f-9a0b-1c2d3e4f5a6b",
    "trace_id=4bf92f3577b34da6a3ce929d0e0e4736",
    "span 00f067aa0ba902b7",
    "toolu_01A09q90qw90lq917835lq9",
    "call_9xkPqYzL2mNvBdRt",
    "chatcmpl-9xkPqYzL2mNvBdRtAbCdEf",
    "msg_01XFDUDYJgAACzvnptvVoYEL",
    "https://example.com/a/b?page=2&limit=50",
    "https://example.com/token/refresh",
    "/var/run/secrets/token",
    "s3://bucket/key/part-0001",
    "arn:aws:iam::123456789012:role/app",
    "file.py:5432:10:error: bad",
    "-----BEGIN PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ user",
    "snake_case_1_name_2",
    "1_000_000",
    "file_2024_01_05_1030.csv",
    "100%25 done",
    "a%20b%20c",
    "x &amp; y &#39;z&#39;",
    "10² m³ ½",
    "① first ② second",
    "\x1b[31mred\x1b[0m and \x1b[1mbold\x1b[0m",
    "`code` **bold** _it_",
    "٢٠٢٤/٠١/٠٥",
    "第１章",
    "+1 point",
    "1,234,567.89",
    "lat 48.856613, lon 2.352222",
    "isbn 978-3-16-148410-0",
)
