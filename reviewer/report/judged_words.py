"""What a rendering says of the judge: a report's `judge` section in sentences."""

from typing import Any

from reviewer.report.words import number

MOST_NAMED = 5
"""Episodes and criteria named in a sentence, those with the most mistakes first."""


def judge_lines(section: dict[str, Any]) -> list[str]:
    """What a rendering says of a report's judge section, in sentences."""
    if "estimates" not in section:
        return [f"Judge: {section['role']} ({section['why']})."]
    lines = [
        f"Judge {section['judge_id']}: {section['role']} ({section['why']}).",
        f"{section['pairs']} labeled pairs: forward accuracy "
        f"{number(section['forward_accuracy'])}, both orders right "
        f"{number(section['estimates']['both_orders_right']['value'])}, flip rate "
        f"{number(section['flip_rate'])}; {section['errors']} of {section['calls']} calls brought "
        "nothing usable.",
    ]
    for noun, by in (("episode", "confusion_by_episode"), ("criterion", "confusion_by_criterion")):
        if section[by]:
            lines.append(f"Right in forward order, by {noun}: {_right(section[by])}.")
    if section["needs"]:
        lines.append(f"To let it score: {section['needs']}.")
    return lines + [_message_line(one) for one in section["messages"]]


def _message_line(one: dict[str, Any]) -> str:
    parts = [f"{name} {number(mean, 2)}" for name, mean in one["means"].items()]
    counts = {name: one[name] for name in ("complete", "grounded") if one[name] is not None}
    parts += [f"{count['hits']} of {count['n']} {name}" for name, count in counts.items()]
    said = ", ".join(parts)
    return f"Judged alone, advisory ({one['preset']}, {one['messages']} messages): {said}."


def _right(groups: dict[str, list[dict[str, Any]]]) -> str:
    """`appeal-009 1 of 2, …`: a judge knows no `both_bad`, so a tie is right there."""
    counts = {}
    for name, cells in groups.items():
        right = sum(
            cell["pairs"]
            for cell in cells
            if cell["judge"] == ("tie" if cell["people"] == "both_bad" else cell["people"])
        )
        counts[name] = right, sum(cell["pairs"] for cell in cells)
    worst = sorted(counts, key=lambda name: (counts[name][0] - counts[name][1], name))
    parts = [f"{name} {counts[name][0]} of {counts[name][1]}" for name in worst[:MOST_NAMED]]
    more = len(worst) - MOST_NAMED
    return ", ".join(parts) + (f" and {more} more in report.json" if more > 0 else "")
