"""Are the scorecards that are kept what the rows give?"""

import msgspec

from reviewer.desk.errors import DeskError
from reviewer.desk.integrity.signed_files import Check
from reviewer.desk.opened import DeskState
from reviewer.desk.place import Workspace
from reviewer.desk.scorecards import kept
from reviewer.desk.scorecards.api import ScorecardsRoom
from reviewer.desk.views import Scorecard
from reviewer.trace.safetext import visible_line


def kept_figures(workspace: Workspace) -> list[Check]:
    """Make every scorecard that is kept, and that would be shown now, again; nothing where none is.
    One that differs is replaced."""
    cards = kept.kept_cards(workspace)
    if not cards:
        return []
    opened = DeskState(workspace)
    room = ScorecardsRoom(opened)
    wrong, same = [], 0
    try:
        for card in cards:
            asked = card.suite.suite_id, card.candidate_id
            if not _shown_now(opened, card):
                continue
            if msgspec.msgpack.encode(room.card_processes.scorecard(*asked)) == (
                msgspec.msgpack.encode(card)
            ):
                same += 1
            else:
                wrong.append(visible_line("/".join(asked)))
    except DeskError:
        return []  # the store or the suite is not sound: the other checks say what is wrong
    finally:
        room.close()
        opened.readers.close()
    if wrong:
        text = f"{', '.join(wrong[:5])}: not what the rows give; made again, look once more"
        return [Check("figures", False, text)]
    return [Check("figures", True, f"{same} kept, as the rows give them")] if same else []


def _shown_now(opened: DeskState, card: Scorecard) -> bool:
    asked = card.suite.suite_id, card.candidate_id
    with opened.reading() as connection:
        made_of = opened.reports.made_of(connection, *asked)
    return kept.kept_card(opened.place, *asked, made_of) is not None
