"""What to call the candidate and the suite of an episode's spans."""

import re
from collections.abc import Iterable
from functools import lru_cache

from reviewer.importing.catalogue import redactor_of
from reviewer.importing.formats._spans.kinds import agent_name, made_for_one_run, model_of
from reviewer.importing.formats._spans.tree import Tree
from reviewer.importing.formats._spans.value import Span
from reviewer.suite.model import RedactionRules

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LIKE = re.compile(r"[-_. ]")


@lru_cache(maxsize=256)
def safe(text: str) -> str:
    """`text` as part of a file name; empty when nothing of it can stay. One that holds what looks
    like a person's is dropped: in its new spelling no rule would know it again."""
    if redactor_of(RedactionRules()).masked(text) != text:
        return ""
    return _UNSAFE.sub("-", text)[:80].strip("-.").lower()


def service_of(span: Span) -> str:
    """The service a span comes from; empty for the name SDKs give when none was set."""
    name = span.resource.get("service.name")
    return name if isinstance(name, str) and not name.startswith("unknown_service") else ""


def main_service(tree: Tree) -> str:
    """The service of the first model call, else of the first span that has one."""
    calls = [call.span for call in tree.calls]
    return next((name for span in (*calls, *tree.spans) if (name := service_of(span))), "")


def candidate_of(tree: Tree) -> str:
    """Service and version, agent, model: as far as the spans say; empty when they say nothing."""
    spans = [*(call.span for call in tree.calls), *tree.spans]
    service = next((span for span in spans if service_of(span)), None)
    owners = (tree.owner(call.span) for call in tree.calls)
    agent = _first(agent_name(one) for one in (*filter(None, owners), *tree.tops()))
    calls = [one for call in tree.calls for one in (call.span, *call.around)]
    model = _first(model_of(span) for span in (*calls, *tree.tops())).rpartition("/models/")[2]
    if service is not None:
        version = _fact(service, "service.version") or _fact(service, "langfuse.release")
        return _joined(service_of(service), version, agent, model)
    traced = _fact(tree.all[0], "langfuse.trace.name")
    named = agent or ("" if made_for_one_run(traced) else traced)
    return _joined(named, _fact(tree.all[0], "langfuse.release"), model)


def _fact(span: Span, name: str) -> str:
    value = span.resource.get(name)
    return value.strip() if isinstance(value, str) else ""


def _first(names: Iterable[str]) -> str:
    return next(filter(None, names), "")


def _joined(*words: str) -> str:
    """Words in a row, without those that say the same again in other spelling."""
    found: dict[str, str] = {}
    for word in words:
        if word:
            found.setdefault(_LIKE.sub("", word).casefold(), word)
    return " ".join(found.values())[:300]
