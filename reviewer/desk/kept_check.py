"""Check that the cached answers are what the rows give."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from reviewer.desk.compare.shelf import COMPARISONS
from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.integrity.signed_files import Check
from reviewer.desk.place import Workspace
from reviewer.desk.scorecards.shelf import CARDS
from reviewer.desk.trends.api import KEPT as TRENDS
from reviewer.trace.safetext import visible_line


class _Looked(NamedTuple):
    what: str
    same: bool


def kept_figures(workspace: Workspace) -> list[Check]:
    """Compute every cached answer that would be shown now again and compare. One that differs is
    removed or replaced."""
    desk = Desk(workspace)
    try:
        found = list(_looked(desk))
    except DeskError as error:
        return [Check("figures", None, f"not compared: {error.text}")]
    finally:
        desk.close()
    wrong = [visible_line(one.what) for one in found if not one.same]
    if wrong:
        text = f"{', '.join(wrong[:5])}: did not match the rows; recomputed, so check once more"
        return [Check("figures", False, text)]
    if not found:
        return [Check("figures", True, "none is cached")]
    return [Check("figures", True, f"{len(found)} kept, all matching the rows")]


def _looked(desk: Desk) -> Iterator[_Looked]:
    for about, card in CARDS.all(desk.place):
        if desk.scorecards.kept(*about) is not None:
            again = desk.opened.card_processes.scorecard(*about)
            yield _Looked("/".join(about), _same(card, again))
    for about, trends in TRENDS.all(desk.place):
        if desk.trends.kept(*about) is not None:
            same = _same(trends, desk.trends.worked_out(*about))
            if not same:
                TRENDS.drop(desk.place, about)
            yield _Looked(f"trends of {about[0]}", same)
    for about, comparison in COMPARISONS.all(desk.place):
        if desk.compare.kept(*about) is not None:
            same = _same(comparison, desk.compare.worked_out(*about))
            if not same:
                COMPARISONS.drop(desk.place, about)
            yield _Looked(f"{about[1]} against {about[2]} on {about[0]}", same)


def _same(kept: object, again: object) -> bool:
    return msgspec.msgpack.encode(kept) == msgspec.msgpack.encode(again)
