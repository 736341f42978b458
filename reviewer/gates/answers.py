"""The codes of notes that say how a call that needed an approval was answered, and by whom."""

PERSON = "a person"
UNANSWERED = "unanswered"
"""The broker's word for a call whose answer did not come before the attempt ended."""
NO_ANSWER = f"approval_{UNANSWERED}"
ANSWERS = ("approval_granted", "approval_refused", NO_ANSWER)
"""The codes, up to their colon, of the notes of `approvals.note_answers`."""


def answer_of(code: str, detail: str) -> tuple[str, str, str]:
    """Return the tool, its answer and who gave it, from a note made by `note_answers`."""
    head, _, tool = code.partition(":")
    answer = head.removeprefix("approval_")
    return tool, answer, detail.removeprefix(f"{tool} was {answer} by ")
