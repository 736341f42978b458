"""Files of a draft that are written in YAML, read as the JSON into which a freeze converts them."""

from collections.abc import Mapping

from reviewer.suite.errors import ContractError, Problem

_SUFFIX = ".yaml"
_EPISODES = "episodes/"
_BESIDE = frozenset({"toolset.json", "rubric.json"})
"""Names defined in `values`, whose import is not needed to ask for the state of a folder."""


def json_of(path: str) -> str | None:
    """Return the path of the JSON file that a YAML file of a draft replaces; None for others."""
    stem = path.removesuffix(_SUFFIX)
    if stem == path:
        return None
    episode = path.startswith(_EPISODES) and path.count("/") == 1
    return f"{stem}.json" if episode or f"{stem}.json" in _BESIDE else None


def yaml_of(path: str) -> str | None:
    """Return the path of the YAML file that may replace a JSON file of a draft; None for none."""
    found = f"{path.removesuffix('.json')}{_SUFFIX}"
    return found if json_of(found) == path else None


def in_json(files: Mapping[str, bytes], suite: str) -> dict[str, bytes]:
    """Return the files of a draft with JSON in place of YAML. Raises ContractError with every fault
    in them, and for a file that exists in both forms."""
    from reviewer.suite.strict_json import canonical_bytes, loads
    from reviewer.suite.yaml_text import as_json

    found = {path: data for path, data in files.items() if json_of(path) is None}
    problems: list[Problem] = []
    for path in files.keys() - found.keys():
        target, file = json_of(path) or path, f"{suite}/{path}"
        if target in files:
            told = f"also exists as {target}: remove one of them"
            problems.append(Problem(file, "$", told))
            continue
        try:
            found[target] = canonical_bytes(loads(as_json(files[path], file), file), file)
        except ContractError as error:
            problems += error.problems
    if problems:
        raise ContractError.of(sorted(problems))
    return dict(sorted(found.items()))
