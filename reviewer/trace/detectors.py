"""Detectors of values that identify a person or give access, found in text.

Every pattern states a *form*; cards, IBANs and social security numbers are also *checked* (Luhn and
issuer, ISO 7064 mod 97-10, areas never assigned), because digits alone would accuse every
timestamp. `prefilter` holds a looser byte pattern for each: widen it whenever one here is widened.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from reviewer.trace import late
from reviewer.trace.credentials import assigned, credentials
from reviewer.trace.disguises import fold, opened, plain_separators
from reviewer.trace.prefilter import may_hold
from reviewer.trace.rules import ADDED
from reviewer.trace.tokens import tokens

# Public IP addresses: those that identify one machine of the Internet.
#
# Private, loopback, link-local, multicast and documentation addresses do not count. Four numbers
# with dots are often a version: small ones count only beside a word for an address.


_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_V4 = late(
    rf"(?<![0-9A-Za-z_.])(?<![A-Za-z0-9][/-])(?:{_OCTET}\.){{3}}{_OCTET}"
    r"(?![0-9A-Za-z_])(?![.-][0-9])"
)
_FOUR = late(r"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]")
_V6 = late(r"(?<![0-9A-Za-z_:.])[23][0-9A-Fa-f]{3}:[0-9A-Fa-f:]{2,35}(?![0-9A-Za-z_])")
_VERSION = late(
    r"(?i:\bv|\bver|version|release|revision|firmware|driver|build|sdk|upgrade[sd]?(?: from| to)?)"
    r"[\"']?[ :=]{0,3}[\"']?\Z|(?:[=<>~!]=|[<>~^]) ?\Z"
)
_ADDRESS = late(
    r"(?i:(?<![a-z])(?:ip|ipv4|addr|address|host|remote|client|peer|src|dst|nameserver|resolver|dns"
    r"|ping|ssh|telnet|traceroute|inet|gateway|server|forwarded-for|real-ip"
    r"|connect(?:ed|ing)?(?: to)?|curl|login from|request from|://|@))(?:[\"']?\s{0,2}[:=(]?\s{0,2}[\"']?)\Z|://\Z"
    r"|(?i:\b(?:ssh|scp|sftp|rsync)\b[^\r\n]{0,16}@)\Z|(?i:\b(?:root|admin|ubuntu|user)@)\Z"
)
_BEHIND = late(r":[0-9]{2,5}(?![0-9])|/[0-9]{1,2}(?![0-9A-Za-z.])")
SMALL = 32
"""Versions are made of numbers below this, as a rule."""


def addresses(text: str) -> Iterator[tuple[int, int]]:
    """Yield half-open spans of every public address in the text."""
    for found in _dotted(text):
        if not _public(IPv4Address(found.group())):
            continue
        before = text[max(0, found.start() - 24) : found.start()]
        if not _version(found, before):
            yield found.span()
    for found in _V6.finditer(text):
        shown = found.group().rstrip(":")
        try:
            address = IPv6Address(shown)
        except ValueError:
            continue
        if _public(address):
            yield found.start(), found.start() + len(shown)


def _dotted(text: str) -> Iterator[re.Match[str]]:
    """Yield every match of `_V4`, which is too slow to try at each character."""
    begin = _FOUR.search(text)
    while begin is not None:
        found = _V4.match(text, begin.start())
        if found is not None:
            yield found
        begin = _FOUR.search(text, begin.start() + 1 if found is None else found.end())


def _public(address: IPv4Address | IPv6Address) -> bool:
    return address.is_global and not address.is_multicast and not address.is_reserved


def _version(found: re.Match[str], before: str) -> bool:
    numbers = [int(number) for number in found.group().split(".")]
    if _VERSION.search(before):
        return True
    if found.group() == "8.8.4.4":
        return False  # a name server that everybody knows, of numbers as small as a version's
    small = max(numbers) < SMALL and len(set(numbers)) > 1
    padded = numbers[0] < SMALL and 0 in numbers[1:3]
    if not small and not padded:
        return False
    return _ADDRESS.search(before) is None and _BEHIND.match(found.string, found.end()) is None


SHORTEST = 6
"""No text shorter than this (`a@b.de`) holds an identifier."""


class Span(NamedTuple):
    """A half-open span of the text and the kind of identifier in it."""

    start: int
    end: int
    kind: str


_WORD = "0-9A-Za-z_"
_LEFT = rf"(?<![{_WORD}])(?<![0-9][.\-])"
_RIGHT = rf"(?![{_WORD}])(?![.\-][0-9])"

# e-mail ------------------------------------------------------------------------------------------
_AT = late(r"@|%40|&#0*64;|&#[xX]0*40;|&commat;")
_LOCAL = late(r"""[^\x00-\x20\x7f@<>()\[\]{}"'`,;:\\/=|&?#\s]+\Z""")
_LABEL = r"[^\x00-\x2c\x2e\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f\s]"
_TOP = r"(?:[A-Za-z]|[^\x00-\x7f\s])"
_DOMAIN = late(rf"(?:{_LABEL}+\.)+{_TOP}(?:{_TOP}|[0-9-])*{_TOP}")
_RELEASE = late(r"v?[0-9]+\.[0-9]")
_FILE_ENDING = late(
    r"\.(?:bmp|css|gif|html|jpe?g|jsx?|json|lock|pdf|png|svg|tsx?|txt|webp|xml|ya?ml)\Z",
    re.IGNORECASE,
)


def _emails(text: str) -> Iterator[tuple[int, int]]:
    for at in _AT.finditer(text):
        local = _LOCAL.search(text, max(0, at.start() - 64), at.start())
        domain = _DOMAIN.match(text, at.end(), at.end() + 255)
        if local is None or domain is None or _RELEASE.match(domain.group()):
            continue
        if _FILE_ENDING.search(domain.group()):
            continue  # icon@2x.png
        if local.group() == "git" and text.startswith((":", "/"), domain.end()):
            continue  # git@host:path and ssh://git@host/path name a repository
        yield local.start(), domain.end()


# payment card ------------------------------------------------------------------------------------
_BRANDS = ("visa", "mastercard", "amex", "discover", "maestro", "card")
_BRANDED = "|".join(rf"(?i:(?<={brand}))" for brand in _BRANDS)
_GROUPS = late(rf"(?:{_LEFT}|{_BRANDED})[0-9]{{3,}}(?:[ -][0-9]{{3,}})*{_RIGHT}")
_BRAND_BEHIND = late(rf"-(?i:{'|'.join(_BRANDS)})")
# Four groups parted by a dot, a tab or a line are a card only where nothing goes on like them: a
# column of numbers has some that pass every check.
_FOURS = late(
    r"(?<![0-9A-Za-z_])(?<![0-9][.\-\s])(?<![0-9](?:\r\n|  ))[0-9]{4}(?P<by>\.|\r?\n|\t|  )[0-9]{4}"
    rf"(?P=by)[0-9]{{4}}(?P=by)[0-9]{{4}}{_RIGHT}(?!\s{{1,2}}[0-9])"
)
_UUID = late(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def _luhn(digits: str) -> bool:
    total = sum(map(int, digits[-1::-2]))
    return (total + sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])) % 10 == 0


def _issued(digits: str) -> bool:
    """Return whether an issuer hands out numbers of this prefix and length."""
    length, two, three, four = len(digits), *(int(digits[:n]) for n in (2, 3, 4))
    if digits[0] == "4":  # Visa
        return length in (13, 16, 19)
    if 51 <= two <= 55 or 2221 <= four <= 2720:  # Mastercard
        return length == 16
    if two in (34, 37):  # American Express
        return length == 15
    if two in (36, 38, 39) or 300 <= three <= 305 or four == 3095:  # Diners Club
        return length in (14, 16, 19)
    if four == 6011 or 644 <= three <= 649 or two == 65:  # Discover
        return length in (16, 19)
    if 3528 <= four <= 3589 or two == 62:  # JCB, UnionPay
        return 16 <= length <= 19
    return four in (5018, 5020, 5038, 6304, 6759, 6761, 6762, 6763)  # Maestro


def is_card(digits: str) -> bool:
    """Return whether a digit string is a payment card number: length, issuer prefix and Luhn
    check."""
    return 13 <= len(digits) <= 19 and _issued(digits) and _luhn(digits)


def _cards(text: str) -> Iterator[tuple[int, int]]:
    spaced = plain_separators(text)
    for run in _GROUPS.finditer(spaced):
        if run.end() - run.start() < 13:
            continue
        for start, end in _cards_among(spaced, run.start(), run.end()):
            near = _UUID.finditer(spaced, max(0, start - 36), end + 36)
            if not any(uuid.start() < end and start < uuid.end() for uuid in near):
                yield start, end
    for fours in _FOURS.finditer(spaced):
        if is_card(re.sub("[^0-9]", "", fours.group())):
            yield fours.span()


def _cards_among(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield card numbers among groups of digits; digits after one (`… 1111 123`) are not part of
    it."""
    groups = [group.span() for group in re.compile("[0-9]+").finditer(text, start, end)]
    first = 0
    while first < len(groups):
        best, digits = first, ""
        for last in range(first, len(groups)):
            digits += text[slice(*groups[last])]
            if len(digits) > 19:
                break
            behind = groups[last][1]
            closed = text[behind : behind + 1] != "-" or _BRAND_BEHIND.match(text, behind)
            if closed and is_card(digits):
                best = last + 1
        if best > first and (first == 0 or text[groups[first][0] - 1] != "-"):
            yield groups[first][0], groups[best - 1][1]
            first = best
        else:
            first += 1


# IBAN --------------------------------------------------------------------------------------------
_IBAN_COUNTRIES = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22
DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21
HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27
MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24
RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22
VG24 XK20
"""
_IBAN_LENGTHS = {entry[:2]: int(entry[2:]) for entry in _IBAN_COUNTRIES.split()}
_IBAN_START = late(r"(?<![0-9A-Za-z])([A-Z]{2})[0-9]{2}")


def _ibans(text: str) -> Iterator[tuple[int, int]]:
    spaced = plain_separators(text)
    for found in _IBAN_START.finditer(spaced):
        length = _IBAN_LENGTHS.get(found.group(1))
        if length is None:
            continue
        whole = re.compile(rf"(?:[ -]?[A-Z0-9]){{{length}}}(?![0-9A-Za-z])").match(
            spaced, found.start()
        )
        if whole is None:
            continue
        account = re.sub(r"[ -]", "", whole.group())
        if int("".join(str(int(c, 36)) for c in account[4:] + account[:4])) % 97 == 1:
            yield whole.span()


# telephone, social security ----------------------------------------------------------------------
_PHONE = late(
    rf"(?<![{_WORD}+])\+(?:[ .()\-]{{0,2}}[0-9]){{8,15}}(?![0-9])"
    rf"|(?:\([2-9][0-9]{{2}}\)[ .\-]?|{_LEFT}(?:1[ .\-])?[2-9][0-9]{{2}}[.\-])"
    rf"[2-9][0-9]{{2}}[ .\-][0-9]{{4}}{_RIGHT}"
)
_DECIMAL = late(r"\+[0-9]+\.[0-9]+")
_EPP = late(r"\+1\.[2-9][0-9]{2}[2-9][0-9]{6}")
"""A North American number as domain registries write it (RFC 5733)."""
_MINUTES = r"(?:[0-5][0-9]){0,2}"
_LATITUDE = rf"\+(?:90|[0-8]?[0-9]){_MINUTES}"
_LONGITUDE = rf"(?:180|1[0-7][0-9]|0?[0-9]{{1,2}}){_MINUTES}"
_POINT = late(
    # ISO 6709, with or without the height; and two decimals side by side, as maps print them
    rf"{_LATITUDE}(?:\.[0-9]+-{_LONGITUDE}\.[0-9]+(?:[+-][0-9]+(?:\.[0-9]+)?)?"
    rf"|-{_LONGITUDE}(?=/)|\.[0-9]{{4,}} {{1,2}}-?{_LONGITUDE}\.[0-9]{{4,}})(?![0-9]|[.\-][0-9])"
)
_SSN = late(rf"{_LEFT}(?!000|666|9)[0-9]{{3}}-(?!00)[0-9]{{2}}-(?!0000)[0-9]{{4}}{_RIGHT}")


def _phones(text: str) -> Iterator[tuple[int, int]]:
    spaced = plain_separators(text)
    at = 0
    while (found := _PHONE.search(spaced, at)) is not None:
        number, at = found.group(), found.end()
        point = _POINT.match(spaced, found.start())
        if point is not None:
            at = point.end()
        elif _DECIMAL.fullmatch(number) and not _EPP.fullmatch(number):
            continue  # +12345678.90 is an amount
        elif not number.lstrip("+ (.-").startswith("0"):
            yield found.span()


def _ssns(text: str) -> Iterator[tuple[int, int]]:
    for found in _SSN.finditer(plain_separators(text)):
        yield found.span()


Finder = Callable[[str], Iterator[tuple[int, int]]]
_FINDERS: dict[str, Finder] = {
    "email": _emails,
    "card": _cards,
    "iban": _ibans,
    "phone": _phones,
    "secret": credentials,
    "ssn": _ssns,
    "token": tokens,
    "credential": assigned,
    "ip": addresses,
}
_RANK = {kind: place for place, kind in enumerate(ADDED, 1)}
_NUMBERS = frozenset(("card", "iban", "phone", "ssn", "ip"))


def spans(text: str, detectors: tuple[str, ...]) -> list[Span]:
    """Return every identifier in the text, from left to right, none overlapping another.

    Where two detectors claim the same characters the earlier start gives the kind (an added one
    yields) and the span covers both.
    """
    if len(text) < SHORTEST:
        return []
    folded = fold(text)
    finders = {kind: _FINDERS[kind] for kind in detectors if kind != "disguised"}
    if "disguised" in detectors:
        finders["disguised"] = partial(_disguised, finders=dict(finders) or _FINDERS)
    found = [
        Span(*folded.span(start, end), kind) for kind, start, end in _found(folded.text, finders)
    ]
    found.sort(key=lambda span: (span.start, _RANK.get(span.kind, 0), span.end, span.kind))
    merged: list[Span] = []
    for span in found:
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _found(text: str, finders: dict[str, Finder]) -> Iterator[tuple[str, int, int]]:
    """Yield (kind, start, end) for what the detectors find. A long text is searched only where a
    detector's byte pattern matches, with enough text around it that no match touches an edge."""
    if len(text) <= 2 * _PART:
        may = may_hold(text)
        for kind, finder in finders.items():
            if kind in may:
                yield from ((kind, start, end) for start, end in finder(text))
        return
    for start in range(0, len(text), _PART):
        may = may_hold(text[max(0, start - _AROUND) : start + _PART + _AROUND])
        for kind, finder in finders.items():
            if kind in may:
                yield from ((kind, *place) for place in _around(text, start, finder))


def _around(text: str, start: int, finder: Finder) -> list[tuple[int, int]]:
    """Return what is found in one part of a long text."""
    margin = _AROUND
    while True:
        first, last = max(0, start - margin), min(len(text), start + _PART + margin)
        places = [
            (first + a, first + b)
            for a, b in finder(text[first:last])
            if first + b > start and first + a < start + _PART
        ]
        if not any((a == first and first) or (b == last < len(text)) for a, b in places):
            return places
        margin *= 8


_PART, _AROUND = 8192, 1024
"""Characters of a long text that are searched together, and of those beside them."""


def _disguised(text: str, finders: dict[str, Finder]) -> Iterator[tuple[int, int]]:
    """Yield what the other detectors find once disguises are removed; all of them where no other is
    on."""
    for numbers in (False, True):
        whole = opened(text, numbers)
        if whole is None:
            continue
        wanted = {
            kind: finder
            for kind, finder in finders.items()
            if (kind in _NUMBERS) is numbers or kind == "email"
        }
        for _, start, end in _found(whole.text, wanted):
            yield whole.span(start, end)
