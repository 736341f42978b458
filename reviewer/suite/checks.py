"""A suite's own checks, `checks/NAME.py`: their names and sources, and what is wrong with them
before any of them runs. Pure.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from reviewer.suite.errors import ContractError, Problem, shown
from reviewer.suite.strict_json import load_object, sha256_hex
from reviewer.suite.value import Value

if TYPE_CHECKING:
    import ast  # most suites have no check

CHECKS = "checks/"
EXAMPLE = ".fails.json"
"""The suffix of the example record beside a check, in which the check must find something."""

MOST_CHECKS = 50
MOST_BYTES = 64 * 1024

MODULES = frozenset(
    (
        *("__future__", "abc", "base64", "binascii", "bisect", "calendar", "cmath", "collections"),
        *("copy", "dataclasses", "datetime", "decimal", "difflib", "enum", "fnmatch", "fractions"),
        *("functools", "hashlib", "heapq", "html", "ipaddress", "itertools", "json", "math"),
        *("numbers", "operator", "re", "statistics", "string", "textwrap", "types", "typing"),
        *("unicodedata", "urllib.parse"),
    )
)
"""Modules that a check may import: the part of the standard library that only computes."""

_CLOCK = frozenset({"now", "today", "utcnow"})
"""Members of `datetime` that read the clock."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class CheckFile(Value, frozen=True):
    """One check of a suite: the name of its file and its source, which is under the lock."""

    name: str
    source: str

    @property
    def sha256(self) -> str:
        """Return the digest of its file."""
        return sha256_hex(self.source.encode())


def checks_of(files: Mapping[str, bytes]) -> tuple[CheckFile, ...]:
    """Return the checks of a suite's locked files (path: content), by name. Raise ContractError for
    one that is not UTF-8."""
    return tuple(
        CheckFile(name=_named(path), source=_text(path, files[path])) for path in _sources(files)
    )


def check_file_problems(files: Mapping[str, bytes]) -> Iterator[Problem]:
    """Yield why files of `checks/` are not valid checks."""
    sources = _sources(files)
    names = {_named(path) for path in sources}
    if len(sources) > MOST_CHECKS:
        reason = f"a suite can have at most {MOST_CHECKS} checks; this one has {len(sources)}"
        yield Problem(CHECKS, "$", reason)
    for path in sorted(files):
        if not path.startswith(CHECKS):
            continue
        if path in sources:
            yield from _source_problems(path, files[path])
        elif path.endswith(EXAMPLE) and _example_of(path) in names:
            try:
                load_object(files[path], path)
            except ContractError as error:
                yield from error.problems
        else:
            reason = f"the folder checks may contain only NAME.py and, beside it, NAME{EXAMPLE}"
            yield Problem(path, "$", reason)


def examples_of(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the record in which each check must find something, by the check's name."""
    return {
        _example_of(path): data
        for path, data in sorted(files.items())
        if path.startswith(CHECKS) and path.endswith(EXAMPLE)
    }


def imported(tree: "ast.AST") -> Iterator[tuple[str, int]]:
    """Yield every module that a source imports, with the line."""
    import ast

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), node.lineno


def modules_of(source: str) -> list[str]:
    """Return the modules that a check without problems imports."""
    return sorted({name for name, _ in imported(_parsed(source)) if name in MODULES})


def _sources(files: Mapping[str, bytes]) -> list[str]:
    return sorted(
        path
        for path in files
        if path.startswith(CHECKS) and path.endswith(".py") and path.count("/") == 1
    )


def _named(path: str) -> str:
    return path.removeprefix(CHECKS).removesuffix(".py")


def _example_of(path: str) -> str:
    return path.removeprefix(CHECKS).removesuffix(EXAMPLE)


def _text(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ContractError(path, "$", "is not UTF-8") from None


def _parsed(source: str) -> "ast.Module":
    import ast
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def _source_problems(path: str, data: bytes) -> Iterator[Problem]:
    if _NAME.fullmatch(_named(path)) is None:
        reason = (
            "the name of a check may have only lowercase letters, digits and underscores, and "
            "must start with a letter"
        )
        yield Problem(path, "$", reason)
    if len(data) > MOST_BYTES:
        yield Problem(
            path, "$", f"a check can have at most {MOST_BYTES:,} bytes; this one has {len(data):,}"
        )
        return
    try:
        tree = _parsed(_text(path, data))
    except ContractError as error:
        yield from error.problems
        return
    except SyntaxError as error:
        yield Problem(path, f"line {error.lineno or 1}", f"is not Python: {error.msg}")
        return
    except (ValueError, RecursionError, MemoryError):
        yield Problem(path, "$", "is not Python, or nested too deeply")
        return
    yield from _entry_problems(path, tree)
    for name, line in imported(tree):
        if name not in MODULES:
            reason = (
                f"imports `{shown(name)}`; a check gets the trace and the episode, and may import "
                f"{', '.join(sorted(MODULES))}"
            )
            yield Problem(path, f"line {line}", reason)
    for name, line in _clock_reads(tree):
        reason = (
            f"reads the clock (`{name}`): what it finds would change from one day to the next; "
            "take times from the trace"
        )
        yield Problem(path, f"line {line}", reason)


def _clock_reads(tree: "ast.AST") -> Iterator[tuple[str, int]]:
    """Yield the uses of the clock: two tries of a check a moment apart do not show them."""
    import ast

    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _CLOCK:
            yield node.attr, node.lineno


def _entry_problems(path: str, tree: "ast.Module") -> Iterator[Problem]:
    import ast

    wanted = "needs one function `check(trace, episode)` that returns a list of findings"
    found = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "check"
    ]
    if len(found) != 1 or isinstance(found[0], ast.AsyncFunctionDef):
        yield Problem(path, f"line {found[-1].lineno}" if found else "$", wanted)
        return
    arguments = found[0].args
    taken = [*arguments.posonlyargs, *arguments.args]
    most = len(taken) if arguments.vararg is None else 2
    least = len(taken) - len(arguments.defaults)
    bare = [one for one in arguments.kw_defaults if one is None]
    if not least <= 2 <= most or bare:
        yield Problem(path, f"line {found[0].lineno}", wanted)
