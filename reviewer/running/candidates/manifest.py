"""The parts of a candidate's manifest that a run needs, read before anything is run or sent.

Files that it names, which lie inside the suite folder and have the named digest; the address, key,
config and prompts of an OpenAI-compatible candidate; and prices of tokens.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from reviewer.running.model import Unrunnable
from reviewer.running.prices import Prices, Usage, cost_usd
from reviewer.suite.candidate import Candidate
from reviewer.suite.errors import ContractError, path_problem, shown, unprintable
from reviewer.suite.folder import CANDIDATES, read_bytes
from reviewer.suite.strict_json import sha256_hex


def manifest_file(candidate: Candidate, folder: Path) -> str:
    """Return the name of the candidate's manifest in messages."""
    return f"{folder.name}/{CANDIDATES}/{shown(candidate.candidate_id, 200)}.json"


def read_below(folder: Path, path: str, sha256: str, where: str) -> bytes:
    """Return the content of a file inside `folder`. `where` names the manifest and the member that
    names the file.

    Raises Unrunnable for a path that leaves the folder (also through a link), a file that cannot be
    read, and content with another digest.
    """
    if (reason := path_problem(path)) is not None:
        raise Unrunnable(f"{where}: `{shown(path, 200)}` {reason}: name a file inside the suite")
    place = folder / path
    if not place.resolve().is_relative_to(folder.resolve()):
        raise Unrunnable(f"{where}: `{shown(path, 200)}` leads out of the suite folder")
    try:
        data = read_bytes(place)
    except ContractError as error:
        raise Unrunnable(f"{where}: `{shown(path, 200)}`: {error.reason}") from None
    found = sha256_hex(data)
    if found != sha256:
        raise Unrunnable(
            f"{where}: `{shown(path, 200)}` is not the file the manifest names: sha256 {found}, "
            f"expected {shown(sha256)}; put it back, make a new version of the candidate, or name "
            f"this file: reviewer candidate pin {folder.name} {Path(where.partition(': ')[0]).stem}"
        )
    return data


INPUT = "input_usd_per_million_tokens"
OUTPUT = "output_usd_per_million_tokens"
CACHED = "cached_input_usd_per_million_tokens"

_MOST_TOKENS = 10**12
"""More than any provider returns in one answer: a larger count is no measurement."""


class UsageNames(NamedTuple):
    """The names of one API's counts; `details` is the member that holds `cached_tokens`."""

    input: str
    output: str
    details: str


def read_prices(prices: Mapping[str, Any], where: str) -> Prices:
    """Return the manifest's `prices`; `where` names it. Raises Unrunnable for a member that is not
    a price per token."""
    for name, amount in prices.items():
        if name not in (INPUT, OUTPUT, CACHED):
            known = f"write `{INPUT}`, `{OUTPUT}` or `{CACHED}`"
            raise Unrunnable(f"{where}.{shown(name)}: is not a kind of token: {known}")
        if type(amount) not in (int, float) or not 0 <= amount < math.inf:
            raise Unrunnable(f"{where}.{name}: must be a number of US dollars, zero or more")
    return Prices(prices.get(INPUT), prices.get(OUTPUT), prices.get(CACHED))


def usage_of(said: Any, names: UsageNames) -> Usage | None:
    """Return the `usage` member of an answer; None when it is not an object.

    A count that is negative, not an integer or implausibly large is unknown, and so is an input
    count below its cached part.
    """
    if not isinstance(said, dict):
        return None
    given, details = _count(said.get(names.input)), said.get(names.details)
    stated = details.get("cached_tokens") if isinstance(details, dict) else None
    if stated is None:
        return Usage(given, _count(said.get(names.output)))
    cached = _count(stated)
    if cached is None or given is None or cached > given:
        given = cached = None
    return Usage(given, _count(said.get(names.output)), cached)


def metered(
    said: Sequence[Any], names: UsageNames, prices: Prices
) -> tuple[Usage | None, float | None]:
    """Return usage and cost of one turn from the `usage` members of its answers, the good one last.

    An answer that was not usable but states its usage was paid for, so it counts; one that states
    none is no measurement and is left out. Without the usage of the good answer nothing is known.
    """
    if not said or not isinstance(said[-1], dict):
        return None, None
    counted = [usage for item in said if (usage := usage_of(item, names)) is not None]
    costs = [cost_usd(usage, prices) for usage in counted]
    known = [cost for cost in costs if cost is not None]
    cached = [u.cached_input_tokens for u in counted if u.cached_input_tokens is not None]
    total = Usage(
        _sum([usage.input_tokens for usage in counted]),
        _sum([usage.output_tokens for usage in counted]),
        sum(cached) if cached else None,
    )
    return total, math.fsum(known) if len(known) == len(costs) else None


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


_TIMEOUT_S = 120.0
_CHOICES = ("auto", "required", "none")
_NEAR = 0.85
_SHORTEST_KEY = 6


class Kind(NamedTuple):
    """A type of a config member, with its name in messages."""

    words: str
    fits: Callable[[Any], bool]


NUMBER = Kind("a number", lambda v: type(v) in (int, float) and math.isfinite(v))
COUNT = Kind("a whole number, one or more", lambda v: type(v) is int and v >= 1)
WHOLE = Kind("a whole number", lambda v: type(v) is int)
SWITCH = Kind("true or false", lambda v: type(v) is bool)
WORD = Kind("a text", lambda v: isinstance(v, str) and bool(v))
STOPS = Kind(
    "a text or a list of texts",
    lambda v: all(map(WORD.fits, v)) if isinstance(v, list) else WORD.fits(v),
)
# An object would name one tool, perhaps one that the episode forbids.
CHOICE = Kind("`auto`, `required` or `none`", lambda v: isinstance(v, str) and v in _CHOICES)

FOR_TOOLS = ("tool_choice", "parallel_tool_calls")
"""Config members that providers accept only with tools."""


class Dialect(NamedTuple):
    """One of the two APIs: the config members that it accepts, and those that only the other one
    has, each with what to do about it."""

    kind: str
    config: Mapping[str, Kind]
    elsewhere: Mapping[str, str]


class Secret:
    """A key that is used in one header only, and replaced wherever else it occurs.

    It cannot be pickled. The empty secret is for a server that needs none.
    """

    __slots__ = ("_text", "env")

    def __init__(self, text: str = "", env: str = "") -> None:
        self._text, self.env = text, env

    def header(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._text}"} if self._text else {}

    def hide(self, text: str) -> str:
        """Return the text without the key."""
        from reviewer.running.masking import SECRET  # a report loads prices, and no redaction

        return text.replace(self._text, SECRET) if self._text else text

    def cleared(self, value: Any) -> Any:
        """Return a JSON value in which no text contains the key, including the names of members.
        A key of fewer than 6 characters is a placeholder that may occur in any text, so it is
        left."""
        if len(self._text) < _SHORTEST_KEY:
            return value
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, dict):
            return {self.hide(name): self.cleared(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self.cleared(part) for part in value]
        return value

    def __repr__(self) -> str:
        return "[secret]"

    def __reduce__(self) -> str:
        raise TypeError("a key does not leave its process")


class Places(NamedTuple):
    """Where a person corrects an endpoint's settings: the names of the places in messages."""

    base_url: str
    api_key_env: str
    model: str


class Settings(NamedTuple):
    """An endpoint ready for requests. `apart_s` is the time between two requests to the host."""

    places: Places
    url: str
    host: str
    model: str
    key: Secret
    config: dict[str, Any]
    prompts: tuple[str, ...]
    prices: Prices
    timeout_s: float
    apart_s: float


def read_settings(candidate: Candidate, folder: Path, dialect: Dialect) -> Settings:
    """Return the settings of a candidate's endpoint.

    Raises Unrunnable, naming the file, the member and the way out, for anything that prevents this
    candidate from running: also a key that is missing in the environment, or a prompt with another
    digest than in the manifest.
    """
    file, runner = manifest_file(candidate, folder), candidate.runner
    for name in runner.get("options") or {}:
        reason = f"is unknown; {dialect.kind} has no options: remove it"
        raise Unrunnable(f"{file}: $.runner.options.{shown(name)}: {reason}")
    if not candidate.model:
        raise Unrunnable(f"{file}: $.model: is missing: write the model to ask for")
    url = read_base_url(runner.get("base_url"), f"{file}: $.runner.base_url")
    per_minute = runner.get("requests_per_minute")
    return Settings(
        places=Places(f"`runner.base_url` in {file}", f"`runner.api_key_env` of {file}", "`model`"),
        url=url.geturl().rstrip("/"),
        host=url.netloc,
        model=candidate.model,
        key=read_key(runner.get("api_key_env"), f"{file}: $.runner.api_key_env"),
        config=_config(candidate.config, dialect, f"{file}: $.config"),
        prompts=_prompts(candidate, folder, file),
        prices=read_prices(candidate.prices, f"{file}: $.prices"),
        timeout_s=float(runner.get("timeout_s") or _TIMEOUT_S),
        apart_s=60 / per_minute if per_minute else 0.0,
    )


def read_base_url(text: str | None, where: str) -> SplitResult:
    """Return the address below which requests go; `where` names it. Raises Unrunnable for an
    invalid one, or one that contains a secret."""
    if not text:
        raise Unrunnable(f"{where}: is missing: write where requests go, such as `https://…/v1`")
    try:
        url = urlsplit(text)
        address = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:
        address = False
    if address and "@" in url.netloc:
        raise Unrunnable(
            f"{where}: contains a user or password; an address must not contain a secret: name an "
            "environment variable for it"
        )
    if not address or unprintable(text) or " " in text or "\\" in text:
        raise Unrunnable(f"{where}: `{shown(text)}` is not an http or https address")
    if "?" in text or "#" in text:
        raise Unrunnable(f"{where}: contains a query or a fragment: leave it out")
    return url


def read_key(env: str | None, where: str) -> Secret:
    """Return the key in the environment variable of that name; the empty secret without a name.
    Raises Unrunnable when it is missing, or cannot be a key."""
    if env is None:
        return Secret()
    text = os.environ.get(env, "")
    if not text:
        raise Unrunnable(
            f"{where}: the environment variable `{shown(env)}` is not set: set it to the key"
        )
    if not text.isascii() or not text.isprintable() or " " in text:
        raise Unrunnable(
            f"{where}: the environment variable `{shown(env)}` contains a character that keys do "
            "not have (a space, a line end or one outside ASCII): set it to the key only"
        )
    return Secret(text, env)


def _config(config: Mapping[str, Any], dialect: Dialect, where: str) -> dict[str, Any]:
    for name, value in config.items():
        if name in dialect.elsewhere:
            reason = f"is not known to {dialect.kind}: {dialect.elsewhere[name]}"
            raise Unrunnable(f"{where}.{name}: {reason}")
        if name in dialect.config:
            kind = dialect.config[name]
            if not kind.fits(value):
                raise Unrunnable(f"{where}.{name}: must be {kind.words}")
        elif near := _near(name, dialect):
            raise Unrunnable(f"{where}.{shown(name)}: is not known; did you mean `{near[0]}`?")
    return {name: value for name, value in config.items() if name in dialect.config}


def _near(name: str, dialect: Dialect) -> list[str]:
    import difflib  # 3 ms, and only a typo needs it

    return difflib.get_close_matches(name, dialect.config, 1, _NEAR)


def _prompts(candidate: Candidate, folder: Path, file: str) -> tuple[str, ...]:
    texts = []
    for position, prompt in enumerate(candidate.prompts):
        if prompt.get("path") is None:
            continue
        where = f"{file}: $.prompts[{position}].path"
        try:
            texts.append(read_below(folder, prompt["path"], prompt["sha256"], where).decode())
        except UnicodeDecodeError:
            raise Unrunnable(f"{where}: `{shown(prompt['path'])}` is not UTF-8 text") from None
    return tuple(texts)
