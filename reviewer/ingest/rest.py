"""What a reader that tells an attempt part by part has left of its record."""

from collections.abc import Container, Iterable
from typing import Any

from reviewer.ingest.account import Account
from reviewer.ingest.draft import Draft


def tell_rest(
    record: Any,
    draft: Draft,
    path: str = "",
    harmless: Container[str] = (),
    told: Any = (),
    copies: Iterable[tuple[str | None, str, Any]] = (),
) -> None:
    """Enter into the draft what could be an act and repeats no call that the draft holds. `told`
    are parts that were read with all they hold; `harmless` names members that hold no act;
    `copies` are calls (id, tool, arguments) that the draft holds in another form."""
    account = Account(harmless)
    account.copies.extend(copies)
    enter(record, account)
    account.whole(*told)
    account.tell(record, draft, path)


def enter(value: Any, account: Account) -> None:
    """Take what only holds messages, so that each of their parts answers for itself."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            said = (part.get("content"), part.get("parts"))
            if isinstance(part.get("role"), str) and any(isinstance(o, (list, dict)) for o in said):
                account.read(part, ("role", "content", "parts"))
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
