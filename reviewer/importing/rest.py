"""Enter into a draft what a reader that goes through an attempt part by part has left."""

from collections.abc import Callable, Container, Iterable
from typing import Any

from reviewer.importing.account import Account, holds_parts
from reviewer.importing.draft import Draft
from reviewer.importing.messages.usual import side_of


def tell_rest(
    record: Any,
    draft: Draft,
    path: str = "",
    harmless: Container[str] = (),
    told: Any = (),
    copies: Iterable[tuple[str | None, str, Any]] = (),
    resolve: tuple[Callable[[Any], Any], str] | None = None,
    messages: Iterable[Any] = (),
) -> None:
    """Enter into the draft what could be an act and repeats no call of the draft. `told` are parts
    that were read with all they hold; `harmless` names members that hold no act; `copies` are calls
    (id, tool, arguments) that the draft has in another form; `resolve` is what puts referenced
    texts in their place, and the letters references begin with. `messages` are those of which every
    word, call and answer is in the draft: of the usual ones nothing is left."""
    account = Account(harmless)
    account.copies.extend(copies)
    account.enters = True
    if resolve is not None:
        account.resolve, account.references = resolve
    account.whole(*told)
    for message in messages:
        if side_of(message):
            account.all_of(message)
    account.tell(record, draft, path)


def enter(value: Any, account: Account) -> None:
    """Take what only holds messages, so that each of their parts is looked at by itself."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if holds_parts(part):
                account.read(part, ("role", "content", "parts"))
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
