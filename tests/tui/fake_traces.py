"""The fake desk's traces: events, states, notes, words in them."""

import json

from fake_shop import CODES, HOSTILE, SUITE, V7, V8, Shop, attempts_of, mark_of

from reviewer.desk.traces.views import (
    EventDetail,
    Field,
    NoteKind,
    NoteView,
    SearchHit,
    SearchView,
    StateView,
)
from reviewer.desk.views import (
    ALWAYS,
    AttemptMark,
    Clause,
    EventRow,
    FindingView,
    TraceView,
)


class FakeTraces(Shop):
    """Traces of five kinds of events, over and over."""

    def trace(self, trace_id: str) -> TraceView:
        suite, candidate, episode, number = trace_id.split("/")
        made = attempts_of(candidate, episode)
        cost, latency, failing = made[int(number) - 1]
        failing = self.still_failing(failing)
        marks = [mark_of(failing, gate) for gate in ALWAYS]
        findings = tuple(
            FindingView(
                gate=name.lstrip("!"),
                code=CODES[name.lstrip("!")][0],
                severity="critical" if name.startswith("!") else "fail",
                seq=CODES[name.lstrip("!")][1],
                detail=CODES[name.lstrip("!")][2],
            )
            for name in failing
        )
        seqs = [each.seq for each in findings if each.seq is not None]
        clauses = tuple(
            Clause(
                gate=gate,
                mark=mark,
                text=f"{CODES[gate][0]}: {CODES[gate][2]}" if mark != "pass" else "holds",
                seq=CODES[gate][1] if mark != "pass" else None,
            )
            for gate, mark in zip(ALWAYS, marks, strict=True)
        )
        return TraceView(
            trace_id=trace_id,
            suite_id=suite,
            candidate_id=candidate,
            episode_id=episode,
            attempt=int(number),
            attempts=tuple(
                AttemptMark(attempt=at, mark=mark_of(self.still_failing(each[2])))
                for at, each in enumerate(made, 1)
            ),
            title=episode,
            user_request="Refund the order to my new card.",
            mark=mark_of(failing),
            results=tuple("pass" if mark == "pass" else "fail" for mark in marks),
            findings=findings,
            clauses=clauses,
            events=self.events_made,
            steps=3,
            cost_usd=cost,
            latency_ms=latency,
            termination="done",
            final_state="refund_issued",
            final_message="Your refund of $89.00 is on its way.",
            source_path="v7-night.jsonl",
            source_record=1,
            source_sha256="sha256:00",
            notes=(),
            payload=True,
            first_finding_seq=min(seqs) if seqs else None,
            slowest_ms=610,
            dearest_usd=0.013,
        )

    def reviewer_name(self) -> str:
        return "dana"

    def notes(self, trace_id: str) -> list[NoteView]:
        return [note for note in self.noted if note.trace_id == trace_id]

    def write_note(
        self, trace_id: str, seq: int, kind: NoteKind, text: str = "", *, removed: bool = False
    ) -> list[NoteView]:
        key = (trace_id, seq, kind)
        self.noted = [n for n in self.noted if (n.trace_id, n.seq, n.kind) != key]
        if not removed:
            at = "2026-11-22T10:00:00Z"
            self.noted.append(
                NoteView(trace_id=trace_id, seq=seq, kind=kind, text=text, reviewer="dana", at=at)
            )
        return self.notes(trace_id)

    def find(self, trace_id: str, text: str) -> list[int]:
        """Numbers of the events that hold a text."""
        found = []
        for seq in range(1, self.events_made + 1):
            one = self.event(trace_id, seq)
            shown = (one.row.title, *(one.text(n) for n in ("arguments", "observation", "message")))
            if text.casefold() in "\n".join(shown).casefold():
                found.append(seq)
        return found

    def search(self, text: str, suite_id: str = "", candidate_id: str = "") -> SearchView:
        words = tuple(text.casefold().split())
        hits = tuple(
            SearchHit(
                trace_id=self.trace_id(candidate, "attack-014", 1),
                suite_id=SUITE,
                candidate_id=candidate,
                episode_id="attack-014",
                attempt=1,
                seq=2,
                kind="tool_call",
                title="issue_refund",
                text=HOSTILE if self.hostile else "issue_refund order_token ord_redacted_014",
                more=3,
            )
            for candidate in (V7, V8)
            if candidate_id in ("", candidate) and all(w in "issue_refund order" for w in words)
        )
        count = len(hits)
        return SearchView(
            words=words, hits=hits, traces=count, shown=count, waiting=self.waiting, partial=0
        )

    def state(self, trace_id: str, seq: int) -> StateView:
        """Snapshots stand on the events 2 and 4."""
        at = 2 if seq >= 4 else 1 if seq >= 2 else 0
        here = (0, 2, 4)[at]
        status = "issued" if at else "none"
        changes = (
            (),
            ('~ changed refund_status  "none" → "issued"',),
            ('+ added final_state  "refund_issued"', "- removed order.hold  true"),
        )[at]
        touched = ((), (("~", "/refund_status"),), (("+", "/final_state"),))[at]
        state = {"refund_status": status, "order": {"id": 1}}
        return StateView(
            seq=here,
            raw=json.dumps(state | ({"final_state": "refund_issued"} if at == 2 else {})).encode(),
            pointer=f"/events/{here - 1}/state" if here else "",
            changes=changes,
            touched=touched,
            changed=here == seq,
            before=(None, None if here == seq else 2, 2 if here == seq else 4)[at],
            after=(2, 4, None)[at],
            at=at,
            of=2,
        )

    def events(self, trace_id: str, first: int, count: int) -> list[EventRow]:
        last = min(first + count, self.events_made)
        return [self._event(trace_id, at + 1) for at in range(first, last)]

    def _event(self, trace_id: str, seq: int) -> EventRow:
        kinds = ("tool_call", "tool_call", "tool_call", "state_snapshot", "message")
        titles = ("lookup_order", "issue_refund", "verify_state", "state snapshot", "message")
        at = (seq - 1) % 5
        found = [each for each in self.trace(trace_id).findings if each.seq == seq]
        critical = any(each.severity == "critical" for each in found)
        title = HOSTILE if self.hostile and at == 1 else titles[at]
        return EventRow(
            seq=seq,
            kind=kinds[at],
            title=title,
            actor="agent",
            status=self.failing.get(seq, "ok" if at < 3 else None),
            latency_ms=(420, 610, 380, None, 530)[at],
            cost_usd=(0.011, 0.013, 0.009, None, 0.008)[at],
            mark="critical" if critical else "fail" if found else None,
            codes=tuple(each.code for each in found),
        )

    def event(self, trace_id: str, seq: int) -> EventDetail:
        row = self._event(trace_id, seq)
        call = row.kind == "tool_call"
        fields: dict[str, object] = {}
        if row.kind == "message":
            fields["message"] = "Your refund of $89.00 is on its way."
        if call:
            fields["arguments"] = {"order_token": "ord_redacted_014", "amount_usd": 89.0}
            fields["observation"] = HOSTILE if self.hostile else self.observation
        fields["state"] = {"refund_status": "issued"}
        return EventDetail(
            row=row,
            position=seq - 1,
            fields=tuple(
                Field(name=name, raw=json.dumps(value).encode()) for name, value in fields.items()
            ),
            granted=None,
            state_changes=('~ changed refund_status  "none" → "issued"',) if seq == 2 else (),
            started_at=None,
            tokens="",
            raw=json.dumps({"seq": seq, "tool": row.title, **fields}).encode(),
            related=self.related.get(seq, ()),
        )
