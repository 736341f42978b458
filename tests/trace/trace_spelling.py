"""Hypothesis strategies for hostile JSON: identifiers in disguise, spelled in any legal way."""

import json
from typing import Any

from hypothesis import strategies as st

IDENTIFIERS = (
    "bob@example.com",
    "a@b.de",
    "n@b.de",
    "o.brien+tag@mail.example.co.uk",
    "bob%40example.com",
    "bob&#64;example.com",
    "bob&#x40;example.com",
    "bob&commat;example.com",
    "4111 1111 1111 1111",
    "4111-1111-1111-1111",
    "4111111111111111",
    "378282246310005",
    "30569309025904",
    "6011000990139424",
    "DE89370400440532013000",
    "DE89 3704 0044 0532 0130 00",
    "GB82 WEST 1234 5698 7654 32",
    "NO9386011117947",
    "+44 20 7946 0958",
    "+1 (415) 555-0132",
    "(415) 555-0132",
    "415-555-0132",
    "1-415-555-0132",
    "415.555.0132",
    "123-45-6789",
    "sk-ant-api03-abcdefghijklmnop",
    "ghp_0123456789abcdefghijABCDEFGHIJ0123",
    "github_pat_0123456789abcdefghijABCDEFGHIJ0123",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-1234567890-abcdef",
    "AIzaSyA-0123456789abcdefghijklmnopqrs",
    "glpat-0123456789abcdefghij",
    "hf_0123456789abcdefghijABCDEFGHIJ",
    "npm_0123456789abcdefghijABCDEFGHIJ",
    "sk_live_0123456789abcdef",
    "eyJhbGciOiJI.eyJzdWIiOiIx.abc",
    "-----BEGIN RSA PRIVATE KEY-----",
    "Bearer abcdefghij0123/456789+xyz",
    "postgres://user:pa55@host/db",
    "password=hunter2",
    'password: "hunter2"',
    "passwd='swordfish'",
    "+1.4155550132",
    "4111.1111.1111.1111",
    "4111\t1111\t1111\t1111",
    "4111\r\n1111\r\n1111\r\n1111",
    "4111  1111  1111  1111",
    "VISA4111111111111111",
    "4111111111111111-Visa",
    "Authorization: Basic QWxhZGRpbjpvcGVuL3Nlc2FtZQ==",
    "api_key=abcdefgh/0123456",
    "client-secret: 'abcdefghijklmno7'",
    "{'password': 'correcthorse'}",
    "gsk_0123456789abcdefghijABCDEFGHIJ0123456789abcdefghijAB",
    "SG.0123456789abcdefABCDEF.0123456789abcdefghijABCDEFGHIJ0123456789abc",
    "https://hooks.slack.com/services/T00000000/B00000000/0123456789abcdefABCDEFGH",
    "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawK",
    "MTA4NzY1NDMyMTA5ODc2NTQzMg.GaBcDe.abcdefghijklmnopqrstuvwxyz0123456789AB",
    "abcdefghijklmn.atlasv1.0123456789abcdefghijABCDEFGHIJ0123456789abcdefghijABCDEFGHIJ",
    "0123456789abcdef0123456789abcdef-us12",
    "abc8Q~0123456789abcdefghijABCDEFGHIJ0123",
    "$2b$12$0123456789abcdefghijABCDEFGHIJ0123456789abcdefghijABC",
    "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "token=9f8e7d6c5b4a3928",
    'authToken: "a1b2c3d4e5f6"',
    "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq==",
    "X-Auth-Token: 0123456789abcdef",
    "curl -u bob:pa55word",
    "mysql -u root -ps3cr3tpw",
    "login bob password hunter2pw",
    "db.example:5432:app:bob:hunter2pw",
    "?sv=1&sig=abcDEF1234567890abcDEF12345%3D",
    "https://0123456789abcdef0123@host",
    "<password>s3cr3tpw9</password>",
    "--token a1b2c3d4e5f6",
    '"auth": "Ym9iOmh1bnRlcjI="',
    "93.184.216.34",
    "8.8.8.8:53",
    "2606:4700:4700::1111",
    "ref_4111111111111111_x",
    "id_123-45-6789_",
    "٤١١١١١١١١١١١١١١١",
    "𝟒𝟏𝟏𝟏 1111 1111 1111",
    "%2B14155550132",
    "&#43;14155550132",
    "4111 \x1b[1m1111\x1b[0m 1111 1111",
    "4111 **1111** 1111 1111",
    "bob@**example**.com",
)
NEIGHBOURS = (
    *(
        "",
        " ",
        ".",
        ",",
        "-",
        "+",
        "_",
        "/",
        "\\",
        "\\\\",
        "\n",
        "\t",
        '"',
        "'",
        "(",
        ")",
        "[",
        "]",
    ),
    *(
        "{",
        "}",
        ":",
        ";",
        "=",
        "@",
        "%",
        "&",
        "#",
        "<",
        ">",
        "0",
        "7",
        "a",
        "n",
        "u",
        "Z",
        "é",
        "e9",
    ),
    *("\u2019", "\u00a0", "\u2011", "\u200b", "\u200d", "\ufe0f", "\u00ad", "\uff0c", "漢", "😀"),
    *("\u0000", "\u001b", "\u007f", "\u0085", "1.", "x-", "-4", ".5", "redacted", "[REDACTED]"),
)
KEYS = (
    *(
        "email",
        "e_mail",
        "E-Mail",
        "customer_name",
        "orderId",
        "order id",
        "x-api-key",
        "Set-Cookie",
    ),
    *("http.request.header.authorization", "a.b.email", "email.", "_email", ".password", "dob"),
    *(
        "CustomerEmail",
        "ｅmail",
        "\u212aey.ssn",
        "pa\u017f\u017fword",
        "e\u200bmail",
        "car\td number",
    ),
    *(
        "date of birth",
        "a@b.example",
        "input_tokens",
        "secretary",
        "note",
        "a\\b",
        'a"b',
        "ключ",
        "",
    ),
)
PLACEHOLDERS = (
    *(
        "[REDACTED]",
        "[redacted_email]",
        "[REDACTED:card]",
        "***",
        "<EMAIL>",
        "{{x}}",
        "REDACTED",
        "",
    ),
    *(
        "[REDACTED",
        "[redacted] Bob",
        '[redacted]"',
        "[re",
        "[email\u00a0protected]",
        '", x',
        "\\",
        '"',
    ),
)

_WIDE = {ord(c): chr(ord(c) + 0xFEE0) for c in "0123456789abcdefghijXYZ@.+-_"}
_EXOTIC = {ord(" "): "\u00a0", ord("-"): "\u2011"}


def disguised(text: str) -> list[str]:
    """The text as it is, full-width, with unusual spaces and dashes, and with unseen characters."""
    half = len(text) // 2
    return [
        text,
        text.translate(_WIDE),
        text.translate(_EXOTIC),
        text.translate({ord(" "): "\u3000", ord("-"): "\u2212"}),
        text.translate({ord(" "): "\u2009", ord("-"): "\u2013"}),
        *(
            text[:half] + unseen + text[half:]
            for unseen in ("\u200b", "\u00ad", "\ufeff", "\u2060")
        ),
    ]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Identifiers among unfriendly neighbours, sometimes in disguise."""
    parts = []
    for _ in range(draw(st.integers(0, 3))):
        parts.append(draw(st.sampled_from(NEIGHBOURS)))
        parts.append(draw(st.sampled_from(NEIGHBOURS)))
        text = draw(st.sampled_from(IDENTIFIERS))
        disguise = draw(st.integers(0, 6))
        if disguise == 1:
            text = text.translate(_WIDE)
        elif disguise == 2:
            text = text.translate(_EXOTIC)
        elif disguise == 3:
            at = draw(st.integers(0, len(text)))
            text = text[:at] + draw(st.sampled_from(NEIGHBOURS)) + text[at:]
        elif disguise == 4:
            at = draw(st.integers(0, len(text)))
            text = text[:at] + text[at + 1 :]
        parts.append(text)
        parts.append(draw(st.sampled_from(NEIGHBOURS)))
        parts.append(draw(st.sampled_from(NEIGHBOURS)))
    return "".join(parts)


WRAPPINGS = (
    "{}",
    "\ufeff{}",
    "result: {}",
    "```json\n{}\n```",
    '{{"a": 1}}\n{}\n{{"b": 2}}',
    "[INFO] [2024-01-01] {} (see [1])",
    '{{"items": [{}, {{"cut": "of',
    '{{"email": {}, "email": ""}}',
    '[{{"note": {}, "note": 0}}]',
)
"""How JSON stands in a text."""


def values(text: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Any]:
    """JSON values with identifiers, sensitive names and JSON within strings."""
    text = texts() if text is None else text
    leaves = st.one_of(
        text,
        st.sampled_from(PLACEHOLDERS),
        st.sampled_from(
            (
                None,
                True,
                False,
                0,
                1,
                -4111111111111111,
                4111111111111111,
                4111111111111111.0,
                0.5,
                17e11,
            )
        ),
        st.text(max_size=8),
    )
    keys = st.one_of(st.sampled_from(KEYS), text, st.text(max_size=4))

    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(
            st.lists(inner, max_size=2),
            st.dictionaries(keys, inner, max_size=2),
            st.builds(
                lambda wrapping, value, indent, ascii_only: wrapping.format(
                    json.dumps(value, indent=indent, ensure_ascii=ascii_only)
                ),
                st.sampled_from(WRAPPINGS),
                inner,
                st.sampled_from((None, 1)),
                st.booleans(),
            ),
        )

    return st.recursive(leaves, grow, max_leaves=5)


@st.composite
def spelled(draw: st.DrawFn, value: Any) -> bytes:
    """The value as JSON bytes with escapes and white space where a writer may put them."""
    escape = draw(st.sampled_from(("none", "ascii", "slash", "random")))
    space = draw(st.sampled_from(("", "", " ", "\n\t")))
    rng = draw(st.randoms(use_true_random=False))

    def text(raw: str) -> str:
        shown = json.dumps(raw, ensure_ascii=escape == "ascii")
        if escape == "slash":
            return shown.replace("/", "\\/")
        if escape == "random":
            return '"' + "".join(character(c) for c in raw) + '"'
        return shown

    def character(c: str) -> str:
        if rng.random() < 0.2 or "\ud800" <= c <= "\udfff":
            units = c.encode("utf-16-be", "surrogatepass")
            return "".join(f"\\u{units[i]:02x}{units[i + 1]:02X}" for i in range(0, len(units), 2))
        return json.dumps(c, ensure_ascii=False)[1:-1]

    def write(part: Any) -> str:
        if isinstance(part, dict):
            pairs = (f"{space}{text(k)}{space}:{space}{write(v)}" for k, v in part.items())
            return "{" + ",".join(pairs) + space + "}"
        if isinstance(part, list):
            return "[" + ",".join(space + write(v) + space for v in part) + "]"
        return text(part) if isinstance(part, str) else json.dumps(part)

    return write(value).encode("utf-8", "surrogatepass")
