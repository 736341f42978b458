"""Public IP addresses: those by which one machine of the Internet can be told from all others.

Private, loopback, link-local, multicast and documentation addresses are none. Four numbers with
dots are often a version: small ones count only where something beside them says address.
"""

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address

from reviewer.trace.patterns import late

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
    """Half-open spans of every public address in the text."""
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
    """Every match of `_V4`, which is slow to look for at each character, where it may be one."""
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
