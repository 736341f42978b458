"""Two people on one store: who has what before them, what the other is given, and no label lost."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from threading import Barrier, Thread

import pytest
from doors import SUITE, V7, V8, Door, environment
from labelers import drafted, kept, labeler, pairs_of
from review_desks import production

from reviewer.desk.desk import Desk
from reviewer.desk.labels.api import LabelItem, Session
from reviewer.desk.presence import api, claims

ITEMS = 60


@pytest.fixture
def queue(door: Door, tmp_path: Path) -> Door:
    """A review set of sixty items."""
    file = tmp_path / "logs.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in production(ITEMS)))
    door.ok("import", file)
    door.ok("review-set", "openai-chat", "--sample", "100%", "--name", "sixty")
    return door


def sixty(desk: Desk) -> Session:
    return desk.labels.session("", "", review_set="sixty")


def given(desk: Desk, session: Session) -> LabelItem:
    item = desk.labels.next_item(session, claim=True)
    assert item is not None
    return item


def labeled(door: Door) -> Counter[str]:
    return Counter(one["item"] for one in kept(door))


def test_two_people_share_sixty_items_and_label_none_twice(queue: Door) -> None:
    start, seen = Barrier(2), []

    def work(name: str) -> None:
        with labeler(queue, name) as desk:
            session = sixty(desk)
            start.wait()
            for _ in range(ITEMS // 2):
                item = given(desk, session)
                desk.labels.record(session, drafted(item))
                seen.append(item.item)

    people = [Thread(target=work, args=(name,)) for name in ("dana", "kim")]
    for one in people:
        one.start()
    for one in people:
        one.join()
    assert len(seen) == len(set(seen)) == ITEMS
    assert labeled(queue) == Counter(seen)
    with labeler(queue, "dana") as desk:  # what is left is what kim labeled, for agreement
        assert desk.labels.next_item(sixty(desk), claim=True) is not None


KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from labelers import drafted
from reviewer.desk.desk import Desk
from reviewer.desk.place import at
desk = Desk(at(Path(sys.argv[1])), reviewer="kim")
desk.presence.here("label")
session = desk.labels.session("", "", review_set="sixty")
for _ in range(3):
    item = desk.labels.next_item(session, claim=True)
    print(desk.labels.record(session, drafted(item)).item, flush=True)
print(desk.labels.next_item(session, claim=True).item, flush=True)
time.sleep(600)
"""


def test_a_killed_claimant_loses_no_label_and_keeps_no_item(
    queue: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    kim = subprocess.Popen(
        [sys.executable, "-P", "-c", KILLED, str(queue.root), str(Path(__file__).parents[1])],
        env=environment(), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert kim.stdout is not None
    told = [kim.stdout.readline().strip() for _ in range(4)]
    os.kill(kim.pid, signal.SIGKILL)
    kim.wait()
    kim.stdout.close()
    with labeler(queue) as desk:
        session, mine = sixty(desk), []
        while (item := desk.labels.next_item(session, claim=True)) is not None:
            if item.item in told:
                break  # nothing that nobody has, or had, is left
            desk.labels.record(session, drafted(item))
            mine.append(item.item)
        assert len(mine) == ITEMS - 4
        assert labeled(queue) == Counter([*told[:3], *mine])
        assert [one.reviewer for one in desk.labels.held(session)] == ["kim"]
        # Kim's workstation has been silent: the item is free, and comes before what kim labeled.
        later = claims.clock() + claims.GONE + 1
        monkeypatch.setattr(claims, "clock", lambda: later)
        assert given(desk, session).item == told[3]
        assert desk.labels.held(session) == ()
    queue.healthy()


LABELED_AND_KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from labelers import drafted
from reviewer.desk.desk import Desk
from reviewer.desk.place import at
from reviewer.desk.presence.claims import Claims
desk = Desk(at(Path(sys.argv[1])), reviewer="kim")
desk.presence.here("label")
session = desk.labels.session("", "", review_set="sixty")
item = desk.labels.next_item(session, claim=True)
print(item.item, flush=True)
Claims.labeled = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
desk.labels.record(session, drafted(item))
"""


def test_a_claim_ends_with_the_label_also_when_its_workstation_is_killed_in_between(
    queue: Door,
) -> None:
    """The label is kept and the claim's file is left: the item is free for everybody else."""
    kim = subprocess.run(
        [
            sys.executable, "-P", "-c", LABELED_AND_KILLED, str(queue.root),
            str(Path(__file__).parents[1]),
        ],
        env=environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert kim.returncode == -signal.SIGKILL, kim.stderr
    told = kim.stdout.strip()
    assert labeled(queue) == Counter([told])
    assert len(list((queue.root / "store" / "presence" / "claims").glob("*.json"))) == 1
    with labeler(queue) as desk:
        session = sixty(desk)
        assert desk.labels.held(session) == ()
        assert desk.labels.queue("", "", review_set="sixty").holders == ()
        found = desk.labels.next_item(session, item=told, claim=True)
        assert found is not None
        assert found.item == told
    with labeler(queue, "kim") as kims, labeler(queue) as desk:
        again = kims.labels.undo(sixty(kims), claim=True)
        assert again.item == told
        assert [one.reviewer for one in desk.labels.held(sixty(desk), told)] == ["kim"]


def test_an_item_is_with_one_person_and_the_queue_names_them(full: Door) -> None:
    with labeler(full, "kim") as kim, labeler(full, "dana") as dana:
        theirs = given(kim, pairs_of(kim))
        item = given(dana, session := pairs_of(dana))
        assert item.item != theirs.item
        assert given(dana, session) == item, "one's own claim hides nothing"
        found = dana.labels.queue(SUITE, V8)
        assert [(one.reviewer, one.items) for one in found.holders] == [("kim", 1)]
        by_reason = [one for line in found.reasons for one in line.holders]
        assert [(one.reviewer, one.items) for one in by_reason] == [("kim", 1)]
        assert theirs.item not in repr(found.holders)
        assert dana.labels.next_item(session, item=theirs.item, claim=True) is None
        assert [one.reviewer for one in dana.labels.held(session, theirs.item)] == ["kim"]
        told = full.ok(
            "--reviewer", "dana", "labels", "queue", "--suite", SUITE, "--candidate", V8
        ).out
        assert "claimed by kim: 1 item, just now" in told
        assert "with kim 1" in told
        kim.labels.release()
        assert dana.labels.queue(SUITE, V8).holders == ()


def test_a_claim_refuses_no_label(full: Door) -> None:
    """Both had the item, one by taking a label back: both labels count."""
    with labeler(full, "kim") as kim, labeler(full, "dana") as dana:
        mine, theirs = pairs_of(dana), pairs_of(kim)
        item = given(dana, mine)
        dana.labels.record(mine, drafted(item))
        assert kim.labels.next_item(theirs, item=item.item, claim=True) is not None
        again = dana.labels.undo(mine, claim=True)
        assert again.item == item.item
        kim.labels.record(theirs, drafted(item, "right"))
        dana.labels.record(mine, drafted(again, "left"))
        counted = {one["reviewer"]: one["answer"] for one in kept(full)}
        assert counted == {"dana": "left", "kim": "right"}
        assert claims.claims_in(full.root / "store" / "presence") == {}
    full.healthy()


def test_a_claim_ends_by_itself(full: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [claims.clock()]
    monkeypatch.setattr(claims, "clock", lambda: now[0])
    with labeler(full, "kim") as kim, labeler(full, "dana") as dana:
        theirs = given(kim, pairs_of(kim))
        session = pairs_of(dana)

        def later(seconds: float, *, active: bool) -> str:
            """Kim's workstation stays open for so long; what dana is given then."""
            now[0] += seconds
            kim.presence.here("label", active=active)
            (here,) = (full.root / "store" / "presence").glob("*.json")
            os.utime(here, (now[0], now[0]))
            return given(dana, session).item

        assert later(claims.LEASE - 60, active=True) != theirs.item
        assert later(claims.LEASE - 60, active=False) != theirs.item
        assert later(120, active=False) == theirs.item, "nobody was at it for a quarter of an hour"
        kim.presence.leave()


def test_where_claims_cannot_be_kept_people_label_all_the_same(
    full: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    (full.root / "store" / "presence").write_bytes(b"no folder")
    with labeler(full) as desk:
        session = pairs_of(desk)
        desk.labels.record(session, drafted(given(desk, session)))
        assert desk.presence.all() == ()
        assert len(kept(full)) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b'{"name": "kim", "item": 3, "since": 0, "renewed": 0}',
        b'{"name": "kim", "item": "x", "since": 1e999, "renewed": 1e999}',
        b'{"name": "kim", "item": "x", "since": 0, "renewed": 0, "more": 1}',
        b"[" * 9000,
    ],
)
def test_a_broken_claim_is_none(full: Door, data: bytes) -> None:
    with labeler(full) as desk:
        given(desk, session := pairs_of(desk))
        (full.root / "store" / "presence" / "claims" / "odd.json").write_bytes(data)
        given(desk, session)
        assert desk.labels.queue(SUITE, V7).holders == ()


def test_a_workstation_that_is_closed_keeps_no_item(full: Door) -> None:
    with labeler(full, "kim") as kim, labeler(full, "dana") as dana:
        kim.presence.here("label")
        given(kim, pairs_of(kim))
        (one,) = [each for each in dana.presence.all() if each.name == "kim"]
        assert one.labeling is not None
        kim.presence.leave()
        assert dana.labels.queue(SUITE, V8).holders == ()
        assert [each.labeling for each in dana.presence.all()] == [None]
        assert api.GONE == claims.GONE
