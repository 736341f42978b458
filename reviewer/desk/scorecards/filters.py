"""The filter language for its users: check what was typed, and complete it."""

import json
from pathlib import Path
from threading import Lock
from typing import Any, get_args

import msgspec

from reviewer.db.queries.episode_order import order_names
from reviewer.db.queries.filters import FilterError, completions, parse_filter
from reviewer.desk.errors import DeskError
from reviewer.desk.place import write_private
from reviewer.desk.scorecards.views import GROUPS, FilterValues, Mode, SavedView
from reviewer.exit_codes import ExitCode
from reviewer.suite.errors import ContractError
from reviewer.suite.gates import ALWAYS
from reviewer.suite.strict_json import loads
from reviewer.suite.value import learned


def problem(text: str) -> str:
    """Return the fault of a filter, with its place and the possible terms; empty for a valid
    one."""
    try:
        parse_filter(text)
    except FilterError as error:
        return str(error)
    return ""


def check(text: str) -> None:
    """Raise DeskError for a filter that cannot be understood."""
    wrong = problem(text)
    if wrong:
        way = "a filter is gate:NAME, tool:NAME, tag:NAME, cost>N or words of an episode's name"
        raise DeskError(wrong, way, exit_code=ExitCode.USAGE)


def offered(text: str, values: FilterValues | None) -> tuple[str, ...]:
    """Return the possible completions of the last word of a filter."""
    known = {} if values is None else {"tag": values.tag, "tool": values.tool, "code": values.code}
    return completions(text, known)


SCHEMA = "reviewer/views@1"
MOST_NAME = 60
MOST_VIEWS = 200
_writing = Lock()
learned(SavedView)


def read_views(path: Path) -> list[SavedView]:
    """Return the views in a file, in its order; none where there is no file. Raises DeskError for
    an invalid file, naming the view and the field."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _wrong(path, f"cannot be read ({error.strerror})") from error
    try:
        body = loads(data, path.name)
    except ContractError as error:
        raise _wrong(path, str(error)) from error
    if not isinstance(body, dict) or set(body) != {"schema", "views"}:
        raise _wrong(path, "must hold exactly schema and views")
    if body["schema"] != SCHEMA:
        raise _wrong(path, f"schema must be {SCHEMA}")
    if not isinstance(body["views"], list) or len(body["views"]) > MOST_VIEWS:
        raise _wrong(path, f"views must be a list of at most {MOST_VIEWS}")
    found = [_view(path, n, each) for n, each in enumerate(body["views"])]
    if len({view.name for view in found}) < len(found):
        raise _wrong(path, "two views have the same name")
    return found


def _view(path: Path, number: int, body: Any) -> SavedView:
    place = f"views[{number}]"
    unknown = set(body) - set(SavedView.__struct_fields__) if isinstance(body, dict) else set()
    if unknown:
        raise _wrong(path, f"{place}: unknown {', '.join(sorted(map(repr, unknown)))}")
    try:
        view = msgspec.convert(body, SavedView)
    except msgspec.ValidationError as error:
        raise _wrong(path, f"{place}: {error}") from error
    wrong = _problem(view)
    if wrong:
        raise _wrong(path, f"{place}: {wrong}")
    return view


def _problem(view: SavedView) -> str:
    if not view.name.strip() or len(view.name) > MOST_NAME or not view.name.isprintable():
        return f"name: 1 to {MOST_NAME} printable characters"
    if view.by not in order_names():
        return f"by: not one of {', '.join(order_names(ALWAYS))}"
    if view.group not in GROUPS or view.mode not in get_args(Mode):
        return "group or mode is not known"
    return problem(view.filter)


def _wrong(path: Path, text: str) -> DeskError:
    return DeskError(f"{path}: {text}", f"fix {path}, or remove it", exit_code=ExitCode.INVALID)


def save_view(path: Path, view: SavedView) -> list[SavedView]:
    """Save a view; one of the same name is replaced in its place. Return all views. Raises
    DeskError."""
    wrong = _problem(view)
    if wrong:
        raise DeskError(
            f"this view cannot be kept: {wrong}",
            "correct the filter, then save it again",
            exit_code=ExitCode.USAGE,
        )
    with _writing:
        views = read_views(path)
        if view.name in {each.name for each in views}:
            views = [view if each.name == view.name else each for each in views]
        elif len(views) == MOST_VIEWS:
            raise DeskError(
                f"{path}: already has {MOST_VIEWS} views, the maximum",
                "remove one first",
                exit_code=ExitCode.USAGE,
            )
        else:
            views.append(view)
        _write(path, views)
    return views


def drop_view(path: Path, name: str) -> list[SavedView]:
    """Remove a view; return the remaining ones. Raises DeskError when there is none of that
    name."""
    with _writing:
        views = read_views(path)
        left = [each for each in views if each.name != name]
        if len(left) == len(views):
            raise DeskError(
                f"no saved view {name!r} in {path}",
                "name one that is there: v lists them",
                exit_code=ExitCode.USAGE,
            )
        _write(path, left)
    return left


def _write(path: Path, views: list[SavedView]) -> None:
    body = {"schema": SCHEMA, "views": [msgspec.to_builtins(view) for view in views]}
    write_private(path, (json.dumps(body, indent=2, ensure_ascii=False) + "\n").encode())
