"""Tools under names that the contract does not list: what they are to those it lists."""

from collections.abc import Iterable, Mapping, Set

from reviewer.gates.compiled import Contract
from reviewer.gates.values import named
from reviewer.suite.tool_names import Kin


def unlisted(contract: Contract, called: Set[str]) -> dict[str, Kin]:
    """The names called that the contract does not list and that are akin to listed ones, or can be
    compared with none."""
    names = contract.names
    return names.akin(called) if names.listed else {}


def also(kin: Mapping[str, Kin], name: str, listed: Iterable[str]) -> str:
    """The words that name the listed tool an unlisted name is a spelling of; "" without one."""
    same = sorted(kin[name].same.intersection(listed)) if name in kin else []
    return f": it is {named(same[0])} in another spelling" if same else ""


def spelled_as(contract: Contract, called: Set[str], tools: Iterable[str]) -> dict[str, str]:
    """Unlisted names called that are spellings of one of `tools` → that tool."""
    akin = unlisted(contract, called)
    if not akin:
        return {}
    wanted = frozenset(tools)
    same = ((name, kin.same & wanted) for name, kin in akin.items())
    return {name: min(tools) for name, tools in same if tools}
