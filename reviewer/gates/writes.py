"""The proof of what was written: each write wants a later look at the very thing it changed."""

from collections.abc import Sequence
from functools import lru_cache

from reviewer.gates.acts import Acts
from reviewer.gates.compiled import Contract
from reviewer.gates.kin import spelled_as
from reviewer.gates.model import Finding
from reviewer.gates.order import wrong_arguments
from reviewer.gates.values import MISSING, at, named, parse, same
from reviewer.trace.events import Call


def check_writes(contract: Contract, acts: Acts, found: list[Finding]) -> None:
    """Append the writes that nothing proves.

    One that was denied wrote nothing. One whose outcome nobody knows wants a proof, so does one in
    another spelling and one of which only the answer is told.
    """
    tools = _writing(contract, acts)
    made = acts.of(contract.proofs | tools.keys())
    writes = _of_tools(tools, acts.attempted if acts.strays else made)
    proofs = [call for call in made if call.status == "ok" and call.tool in contract.proofs]
    proofs.reverse()  # the last look is the likeliest to be of what was written
    asked: dict[int, object] = {}
    for call, tool in writes:
        since = call.seq if call.result_seq is None else max(call.seq, call.result_seq)
        verifiers = contract.verifiers[tool]
        later = [one for one in proofs if one.seq > since and one.tool in verifiers]
        if not later or not _looked_at(contract, tool, parse(call.arguments), later, asked):
            found.append(_unproven(verifiers, call, since, bool(later)))
    if not proofs:
        either = _either(contract.proofs)
        text = f"{either} never succeeded: nothing proves the final state"
        found.append(Finding("process", "no_final_state_evidence", "fail", None, text))


def _unproven(verifiers: frozenset[str], call: Call, since: int, later: bool) -> Finding:
    """`since` is the event after which a proof counts; `later` says that there was a call of one,
    which looked at something else."""
    either = _either(verifiers)
    after = "it" if since == call.seq else f"its result, event {since}"
    text = f"{named(call.tool)} writes, and no successful {either} comes after {after}"
    if later:
        text += " on the same object"
    return Finding("process", "write_not_verified", "fail", call.seq, text)


@lru_cache(256)
def _either(tools: frozenset[str]) -> str:
    return named(" or ".join(sorted(tools)))


def written(contract: Contract, acts: Acts) -> list[tuple[Call, str]]:
    """Every write attempted that was not denied, with the tool as the contract lists it."""
    tools = _writing(contract, acts)
    if not tools:
        return []
    return _of_tools(tools, acts.attempted if acts.strays else acts.of(tools))


def _writing(contract: Contract, acts: Acts) -> dict[str, str]:
    """The names called that write, each with the tool as the contract lists it."""
    called = acts.called | {call.tool for call in acts.strays} if acts.strays else acts.called
    tools = {name: name for name in contract.verifiers if name in called}
    return tools | spelled_as(contract, called, contract.verifiers)


def _of_tools(tools: dict[str, str], calls: Sequence[Call]) -> list[tuple[Call, str]]:
    return [
        (call, tools[call.tool]) for call in calls if call.tool in tools and call.status != "denied"
    ]


def _looked_at(
    contract: Contract,
    tool: str,
    wrote: object,
    proofs: Sequence[Call],
    asked: dict[int, object],
) -> bool:
    """Return whether one of these calls looks at what a write with these arguments changed: at the
    object the contract names, else with the same value of every text and number that both name and
    that says what a call is about, else with the arguments expected of it.

    `asked` keeps the arguments of the proofs, by seq, once they are read.
    """
    pairs = contract.objects.get(tool)
    for proof in proofs:
        its = asked.get(proof.seq, _UNREAD)
        if its is _UNREAD:
            its = asked[proof.seq] = parse(proof.arguments)
        if pairs is not None:
            if all(_equal(at(wrote, here), at(its, there)) for here, there in pairs):
                return True
            continue
        alike = _alike(wrote, its)
        if alike is None:
            alike = not any(
                wrong_arguments(proof, wanted)
                for name, wanted in contract.arguments
                if name == proof.tool
            )
        if alike:
            return True
    return False


_UNREAD = object()


def _equal(mine: object, its: object) -> bool:
    return mine is not MISSING and mine is not None and same(mine, its)


def _alike(wrote: object, asked: object) -> bool | None:
    """Return whether each text and number that both name has the same value; None without any."""
    if not isinstance(wrote, dict) or not isinstance(asked, dict):
        return None
    shared = False
    for name, value in wrote.items():
        if name not in asked:
            continue
        if type(value) in _PLAIN and _about(name):
            shared = True
            if not same(value, asked[name]):
                return False
    return True if shared else None


_known: dict[str, bool] = {}


def _about(name: str) -> bool:
    """Return whether an argument of that name says what a call is about."""
    known = _known.get(name)
    if known is None:
        known = name.lower().replace("_", "") not in _HOW
        if len(_known) < _MEMO and len(name) <= _SHORT:
            _known[name] = known
    return known


_MEMO = 4096
_SHORT = 64


_PLAIN = frozenset((str, int, float))
_HOW = frozenset(
    (
        *("limit", "offset", "page", "pagesize", "perpage", "pagenumber", "cursor", "topk"),
        *("maxresults", "maxitems", "sort", "sortby", "orderby", "fields", "format"),
        *("view", "verbose", "lang", "language", "locale", "timezone", "timeout", "timeoutms"),
        *("retries", "attempt", "requestid", "idempotencykey", "traceid", "correlationid"),
        *("reason", "note", "notes", "comment", "explanation", "thought", "securityrisk"),
    )
)
"""Names, without case and underscores, of arguments that say how a call is made or why, not what it
is about."""
