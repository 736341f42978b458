"""JSON Merge Patch, RFC 7396."""

from typing import Any


def merged(target: Any, patch: Any) -> Any:
    """`target` with `patch` applied, as a new value; neither is changed.

    A null in the patch takes the member away; an object is merged into what stands there (into
    nothing, when that is no object); anything else takes its place. Parts that are not patched
    are shared with the originals.
    """
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, part in patch.items():
        if part is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), part)
    return result
