"""What the desk answers of decisions, in the same plain values as `views`."""

from reviewer.desk.views import Reason, Recommendation, View


class Choice(View, frozen=True):
    """One decision that may be signed, or why it may not. `adds` is the number of a decision that
    waits for another signature, None for a new one."""

    decision: str
    open: bool
    why: str
    adds: int | None = None


class Pending(View, frozen=True):
    """A decision on this candidate that waits for another signature. `signers` signed it already,
    `needed` must; `differs` are the fields in which it is not what this store gives now."""

    number: int
    decision: str
    signers: tuple[str, ...]
    needed: int
    environment: str
    created: str
    expires: str
    comment: str
    path: str
    differs: tuple[str, ...] = ()


class DecisionInfo(View, frozen=True):
    """One line of what was signed: a decision, or a break-glass record (`number` None). `standing`
    is signed, pending, elsewhere (a file that this store did not sign) or break-glass."""

    number: int | None
    word: str
    suite_id: str
    candidate_id: str
    environment: str
    standing: str
    signers: tuple[str, ...]
    created: str
    expires: str
    text: str
    path: str


class DecisionView(View, frozen=True):
    """The report as it would be signed, with what may be decided.

    `sections` are (mark, name, text) lines in report order; `markdown` and `report_json` are the
    very renderings the export writes.
    """

    suite_id: str
    candidate_id: str
    recommendation: Recommendation
    reasons: tuple[Reason, ...]
    sections: tuple[tuple[str, str, str], ...]
    report_digest: str
    report_json: bytes
    markdown: str
    choices: tuple[Choice, ...]
    preselected: str | None
    candidate_digest: str | None
    suite_digest: str
    journal_seq: int
    journal_head: str
    decided: str | None
    exit_code: int
    environment: str = "production"
    valid_days: int = 7
    pending: Pending | None = None
    needed: int = 1
