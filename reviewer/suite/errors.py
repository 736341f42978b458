"""How a file that people wrote is refused: which file, where in it, and why."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

_LONGEST = 80


class Problem(NamedTuple):
    """One thing wrong with one file. `path` is a JSON path such as `$.tools.allowed[0]`."""

    file: str
    path: str
    reason: str

    def __str__(self) -> str:
        return f"{shown(self.file, 200)}: {self.path}: {self.reason}"


class ContractError(ValueError):
    """A file that cannot be used. `problems` holds everything found, in order.

    The text is one `file: path: reason` line per problem; `file`, `path` and `reason` are those
    of the first.
    """

    def __init__(self, file: str, path: str, reason: str, more: Iterable[Problem] = ()) -> None:
        self.file = file
        self.path = path
        self.reason = reason
        self.problems: tuple[Problem, ...] = (Problem(file, path, reason), *more)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> "ContractError":
        """The error that carries all of `problems` (at least one)."""
        first = problems[0]
        return cls(first.file, first.path, first.reason, problems[1:])


def shown(text: str, longest: int = _LONGEST) -> str:
    """`text` fit for a message: characters that do not print are escaped, length is capped."""
    safe = "".join(c if c.isprintable() else _escaped(c) for c in text[: longest + 1])
    return safe if len(text) <= longest else safe[:longest] + "…"


def json_path(parts: Iterable[str | int]) -> str:
    """`("tools", "allowed", 0)` as `$.tools.allowed[0]`; odd names stand in quotes."""
    out = ["$"]
    for part in parts:
        if isinstance(part, int):
            out.append(f"[{part}]")
        elif part.isidentifier():
            out.append(f".{shown(part)}")
        else:
            out.append('["' + shown(part).replace('"', '\\"') + '"]')
    return "".join(out)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
