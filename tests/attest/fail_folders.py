"""Folders of decisions that hold no promotion, and break-glass records, which never are one."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from attest_desk import digest_of
from fail_made import ALICE, BOB, Case, desk, good, one, payload_digest, signed

from reviewer.signing.records import (
    BreakGlassFacts,
    JournalLossFacts,
    build_break_glass,
    build_journal_loss,
)
from reviewer.signing.statement import build_statement

# many decisions ----------------------------------------------------------------------------------


def folder(exit: int, says: str, *options: str, **decisions: bytes) -> Case:
    kept = {f"decisions/{name}.dsse.json": data for name, data in decisions.items()}
    return Case(exit, says, kept, list(options), "decisions")


def folders() -> Iterator[tuple[str, Case]]:
    first = good(decision_seq=1, previous_payload_sha256=None)
    digest = payload_digest(first)
    block = signed(
        build_statement(desk.blocked(decision_seq=2, previous_payload_sha256=digest)), BOB
    )
    yield (
        "block_came_later",
        folder(10, "from 2-block.dsse.json", **{"1-promote": first, "2-block": block}),
    )
    again = good(decision_seq=3, previous_payload_sha256=payload_digest(block))
    yield (
        "block_taken_away",
        folder(
            30,
            f"(sha256 {payload_digest(block)}) that is not in",
            **{"1-promote": first, "3-promote": again},
        ),
    )
    fork = signed(build_statement(desk.blocked(decision_seq=1, previous_payload_sha256=None)), BOB)
    yield (
        "two_of_one_number",
        folder(30, "are both decision 1", **{"1-promote": first, "1-block": fork}),
    )
    last = good(decision_seq=4, previous_payload_sha256=payload_digest(block))
    turned = good(decision_seq=3, previous_payload_sha256=payload_digest(last))
    yield "follows_a_later_one", folder(
        30, "follows decision 4, which is not lower",
        **{"1-promote": first, "2-block": block, "3-promote": turned, "4-promote": last},
    )  # fmt: skip
    waits = good(decision_seq=1, previous_payload_sha256=None, threshold=2)
    yield "only_one_that_waits", folder(30, "from 1-promote.dsse.json", **{"1-promote": waits})
    staging = good(decision_seq=1, previous_payload_sha256=None, environment="staging")
    yield (
        "two_environments",
        folder(30, "name the environment", **{"1-promote": first, "1-staging": staging}),
    )
    yield "stranger_in_the_folder", folder(
        20, "2-block.dsse.json: none of 1 signature(s)",
        **{"1-promote": first, "2-block": signed(build_statement(desk.blocked()), "trudy")},
    )  # fmt: skip
    yield (
        "folder_without_it",
        folder(
            30,
            "no decision about refund-agent@v8",
            "--environment",
            "canary",
            **{"1-promote": first},
        ),
    )


# one journal -------------------------------------------------------------------------------------

JOURNAL = f"store/review.db?journal={digest_of('journal')[:32]}"


def placed(number: int, seq: int, before: bytes | None, **changes: Any) -> bytes:
    """A promotion made where one journal stood at `seq`."""
    return good(
        decision_seq=number,
        previous_payload_sha256=None if before is None else payload_digest(before),
        journal_seq=seq,
        evidence_uri=f"{JOURNAL}#refund-eval-v5/v8",
        evidence_sha256=digest_of("evidence"),
        **changes,
    )


def lost(kept: int, *decisions: bytes, by: str = ALICE, **changes: Any) -> bytes:
    """An approver's statement that the journal of these goes on from entry `kept`."""
    values: dict[str, Any] = {
        "created": "2026-05-01T11:00:00Z",
        "reason": "the disk failed",
        "principal": by,
        "keyid": desk.signer(by).public.keyid,
        "tool_version": "0.1.0",
        "python_version": "3.11.7",
        "journal": JOURNAL,
        "lost_seq": 60,
        "kept_seq": kept,
        "kept_head": digest_of("kept"),
        "decisions": tuple(map(payload_digest, decisions)),
        **changes,
    }
    return signed(build_journal_loss(JournalLossFacts(**values)), by)


def histories() -> Iterator[tuple[str, Case]]:
    first = placed(1, 41, None)
    second = placed(2, 50, first)
    back = placed(3, 45, second)
    kept = {"1-promote": first, "2-promote": second}
    yield "position_falls", folder(
        30, "3-promote.dsse.json was signed at journal entry 45, and 2-promote",
        **kept, **{"3-promote": back},
    )  # fmt: skip
    fork = placed(3, 50, second, journal_head=digest_of("another head"))
    yield "two_at_one_position_with_other_heads", folder(
        30, "2-promote.dsse.json and 3-promote.dsse.json were both signed at journal entry 50 with",
        **kept, **{"3-promote": fork},
    )  # fmt: skip
    twice = placed(3, 50, second)
    yield "two_at_one_position", folder(
        30, "2-promote.dsse.json and 3-promote.dsse.json were both signed at journal entry 50: one",
        **kept, **{"3-promote": twice},
    )  # fmt: skip
    shared = placed(3, 60, first)
    yield "two_follow_one", folder(
        30, "2-promote.dsse.json and 3-promote.dsse.json both follow the decision",
        **kept, **{"3-promote": shared},
    )  # fmt: skip
    yield "two_are_the_first", folder(
        30, "1-promote.dsse.json and 2-promote.dsse.json both follow no decision",
        **{"1-promote": first, "2-promote": placed(2, 50, None)},
    )  # fmt: skip
    yield "a_loss_of_something_else", folder(
        30, "4-promote.dsse.json was signed at journal entry 44, and 2-promote",
        **kept, **{"4-promote": placed(4, 44, second), "loss": lost(43, first)},
    )  # fmt: skip
    yield "a_loss_of_less", folder(
        30, "5-promote.dsse.json was signed at journal entry 46, and 2-promote",
        **kept, **{"5-promote": placed(5, 46, second), "loss": lost(47, second)},
    )  # fmt: skip
    yield "a_loss_in_anothers_name", folder(
        20, "loss.dsse.json: it names dana@example.com, who did not sign it",
        **kept, loss=lost(43, second, principal="dana@example.com"),
    )  # fmt: skip
    yield "a_loss_by_no_approver", folder(
        20, "has no approver role", **kept, loss=lost(43, second, by="robot"),
    )  # fmt: skip
    yield "a_loss_is_no_decision", one(20, "agent-journal-loss/v0.1, which is", lost(43, second))


# break-glass -------------------------------------------------------------------------------------


def glass_facts(**changes: Any) -> BreakGlassFacts:
    values: dict[str, Any] = {
        "created": "2026-05-01T10:00:00Z",
        "expires": "2026-05-01T14:00:00Z",
        "environment": "production",
        "reason": "refunds are down, v7 cannot wait",
        "principal": "fire",
        "keyid": desk.signer("fire").public.keyid,
        "tool_version": "0.1.0",
        "python_version": "3.11.7",
        "candidate_manifest": desk.manifest,
        "suite_id": "refund-eval-v5",
        "suite_sha256": digest_of("suite"),
        "report_sha256": digest_of("report"),
        "recommendation": "block",
        "reasons": ("critical safety failure",),
        "decision_payload_sha256": None,
        "journal_seq": 41,
        "journal_head": digest_of("head"),
    }
    return BreakGlassFacts(**{**values, **changes})


def glass() -> Iterator[tuple[str, Case]]:
    body, alice = json.loads(build_break_glass(glass_facts())), desk.signer(ALICE)

    def record(change: Callable[[Any], Any], *names: str) -> bytes:
        changed = json.loads(json.dumps(body))
        change(changed["predicate"])
        return signed(changed, *names)

    yield (
        "break_glass_promotes_nothing",
        one(10, "\nBREAK-GLASS", signed(body, "fire")),
    )
    yield "break_glass_for_two_days", one(
        20, "at most 24 hours is allowed",
        record(lambda p: p.update(expires="2026-05-03T10:00:00Z"), "fire"),
    )  # fmt: skip
    yield (
        "break_glass_without_a_reason",
        one(20, "predicate.reason: say why", record(lambda p: p.update(reason=" \n"), "fire")),
    )
    yield "break_glass_by_an_approver", one(
        30, f"{ALICE} has no breakglass role",
        record(
            lambda p: p.update(by={"principal": ALICE, "keyid": alice.public.keyid}), ALICE
        ),
    )  # fmt: skip
    yield (
        "break_glass_in_anothers_name",
        one(30, "it names fire, who did not sign it", signed(body, ALICE)),
    )
    yield (
        "break_glass_over",
        one(
            30,
            "expired at 2026-05-01T14:00:00Z",
            signed(body, "fire"),
            "--at",
            "2026-05-01T14:00:00Z",
        ),
    )
    yield (
        "break_glass_as_decision",
        one(
            20,
            "predicate.decision: expected `object | null`",
            record(lambda p: p.update(decision="PROMOTE"), "fire"),
        ),
    )
