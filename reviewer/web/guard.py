"""Access to a served workstation: only with its address, and never from a page of another site.

A browser lets any page it shows send requests to this machine, so binding to loopback keeps out
strangers but not their pages. Three checks keep out the pages: a token in the path of everything
served, new at each start and different for each person; the host name of the request (`Host`),
which a page whose own name resolves to this machine cannot choose; and the origin of the page
(`Origin`), which must be ours, and must be sent wherever a page could drive the workstation. Pure:
texts in, answers out.
"""

import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import NamedTuple

# A name or an address, and a port: a browser sends nothing else.
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9A-Za-z.-]+))(?::\d{1,5})?", re.ASCII)


def new_token() -> str:
    """Return 192 random bits as text for an address."""
    return secrets.token_urlsafe(24)


class Guest(NamedTuple):
    """The person an address was given to: their `name`, `role` (`reviewer.desk.roles`), and the
    `principal` whose keys sign for them. Without a role, the person who serves."""

    name: str = ""
    role: str = ""
    principal: str = ""


class Guard(NamedTuple):
    """The rules of access: the `tokens` with their persons, and the host `names` this machine may
    be called by. IP addresses need no entry: only a name can be made to point elsewhere. With
    `loopback`, only addresses that no other machine reaches are admitted."""

    tokens: Mapping[str, Guest]
    names: frozenset[str]
    loopback: bool = True

    def admits(self, path: str, host: str | None, origin: str | None, drives: bool) -> Guest | None:
        """Return the person for whom a request for `path` is answered, None for nobody. A request
        that `drives` the workstation must send its origin."""
        guest = self._guest(path)
        if guest is None or host is None or not self._known(host):
            return None
        if origin is None:
            return None if drives else guest
        return guest if origin == f"http://{host}" else None

    def _guest(self, path: str) -> Guest | None:
        """Return the person whose token the path begins with. All tokens are compared, so the time
        taken reveals none."""
        first = path.removeprefix("/").partition("/")[0].encode("utf-8", "replace")
        found = [
            guest
            for token, guest in self.tokens.items()
            if hmac.compare_digest(first, token.encode())
        ]
        return found[0] if found else None

    def _known(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = (match[1] or match[2]).lower()
        return name in self.names or is_address(name, self.loopback)


def is_address(text: str, loopback: bool) -> bool:
    """Return whether `text` is an IP address, or with `loopback` one of this machine only."""
    try:
        found = ip_address(text)
    except ValueError:
        return False
    return found.is_loopback if loopback else True


def guard_for(tokens: Mapping[str, Guest], loopback: bool, names: Iterable[str] = ()) -> Guard:
    """Return a guard that knows `localhost`, and these names of the machine."""
    return Guard(tokens, frozenset({"localhost", *(name.lower() for name in names)}), loopback)
