"""What a manifest says of an OpenAI-compatible candidate, read before anything is sent."""

import difflib
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from reviewer.running.candidates.prices import Prices, read_prices
from reviewer.running.files import manifest_file, read_below
from reviewer.running.masking import SECRET
from reviewer.running.model import Unrunnable
from reviewer.suite.candidate import Candidate
from reviewer.suite.errors import shown, unprintable

_TIMEOUT_S = 120.0
_CHOICES = ("auto", "required", "none")
_NEAR = 0.85
_SHORTEST_KEY = 6


class Kind(NamedTuple):
    """A way of saying that a config member has the wrong type."""

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
"""Config members that providers take only beside tools."""


class Dialect(NamedTuple):
    """One of the two APIs: the config members it is sent, and those that only the other one has,
    each with what to do about it."""

    kind: str
    config: Mapping[str, Kind]
    elsewhere: Mapping[str, str]


class Secret:
    """A key that shows itself to the one header it is for, and hides itself wherever it turns up.

    It cannot be pickled. The empty secret is that of a server that asks for none.
    """

    __slots__ = ("_text", "env")

    def __init__(self, text: str = "", env: str = "") -> None:
        self._text, self.env = text, env

    def header(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._text}"} if self._text else {}

    def hide(self, text: str) -> str:
        """The text without the key."""
        return text.replace(self._text, SECRET) if self._text else text

    def cleared(self, value: Any) -> Any:
        """A JSON value in which no text holds the key, the names of members included. One of fewer
        than 6 characters is a placeholder that any text may hold, so it is left."""
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
    """Where a person corrects what is wrong with an endpoint, as messages say it."""

    base_url: str
    api_key_env: str
    model: str


class Settings(NamedTuple):
    """An endpoint ready to be asked. `apart_s` is the time between two requests to the host."""

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
    """Raises Unrunnable, naming the file, the member and the way out, for anything that keeps this
    candidate from being run: also a key that is not in the environment, or a prompt that is not
    the one the manifest names."""
    file, runner = manifest_file(candidate, folder), candidate.runner
    for name in runner.get("options") or {}:
        reason = f"is not known; {dialect.kind} takes no options: take it out"
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
    """The address that requests go below; `where` names it. Raises Unrunnable for what is none, or
    holds a secret."""
    if not text:
        raise Unrunnable(f"{where}: is missing: write where requests go, such as `https://…/v1`")
    try:
        url = urlsplit(text)
        address = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:
        address = False
    if address and "@" in url.netloc:
        raise Unrunnable(
            f"{where}: holds a user or password; no secret stands in an address: name an "
            "environment variable for it"
        )
    if not address or unprintable(text) or " " in text or "\\" in text:
        raise Unrunnable(f"{where}: `{shown(text)}` is no http or https address")
    if "?" in text or "#" in text:
        raise Unrunnable(f"{where}: holds a query or a fragment: leave it out")
    return url


def read_key(env: str | None, where: str) -> Secret:
    """The key in the environment variable of that name; the empty secret without a name. Raises
    Unrunnable when there is none, or what no key can be."""
    if env is None:
        return Secret()
    text = os.environ.get(env, "")
    if not text:
        raise Unrunnable(
            f"{where}: the environment variable `{shown(env)}` is not set: set it to the key"
        )
    if not text.isascii() or not text.isprintable() or " " in text:
        raise Unrunnable(
            f"{where}: the environment variable `{shown(env)}` holds a character that no key has "
            "(a space, a line end or one outside ASCII): set it to the key alone"
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
        elif near := difflib.get_close_matches(name, dialect.config, 1, _NEAR):
            raise Unrunnable(f"{where}.{shown(name)}: is not known; did you mean `{near[0]}`?")
    return {name: value for name, value in config.items() if name in dialect.config}


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
