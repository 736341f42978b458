"""The sign and the word of a verdict, as every rendering writes them: color only repeats them."""

GLYPHS = {
    "pass": "✓",
    "fail": "✗",
    "critical": "▲",
    "not_measured": "○",
    "infra": "†",
    "missing": "·",
    "quarantined": "!",
}
WORDS = {
    "pass": "pass",
    "fail": "FAIL",
    "critical": "critical FAIL",
    "not_measured": "not measured",
    "infra": "infra error",
    "missing": "missing",
    "quarantined": "quarantined",
}
OF_RECOMMENDATION = {
    "promote": "pass",
    "block": "critical",
    "repair": "fail",
    "hold": "not_measured",
}
"""The mark whose sign and color a recommendation borrows."""
OF_RESULT = {"PASS": "pass", "FAIL": "fail", "NO EVIDENCE": "not_measured"}
"""The mark of what a gate of the decision set says; a gate that is not asked has none."""


class Marked(str):
    """A text about a verdict; a rendering with colors gives it that of its mark."""

    mark: str

    def __new__(cls, mark: str, text: str) -> "Marked":
        made = super().__new__(cls, text)
        made.mark = mark
        return made


def marked(mark: str, more: str = "") -> Marked:
    """`✗ FAIL 1/3`: sign, word, and what is counted."""
    return Marked(mark, f"{GLYPHS[mark]} {WORDS[mark]} {more}".rstrip())
