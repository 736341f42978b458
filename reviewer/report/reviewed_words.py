"""What a rendering says of labels: a report's `review` section in sentences, rows and few words."""

from typing import Any

from reviewer.report.words import limits, number


def review_lines(section: dict[str, Any]) -> list[str]:
    """What a rendering says of a report's review section, in sentences."""
    lines = [
        f"Rubric: {', '.join(section['rubric']) or 'none'}; {section['sample']} messages "
        f"reviewed, {section['pairs_labelled']} of {section['pairs_required']} required pairs."
    ]
    if section["labels"]:
        lines.append(
            f"{section['labels']} labels by {', '.join(section['reviewers'])}; "
            f"{section['disagreements_open']} items wait for a third person; "
            f"{section['random_part']['items']} of {section['random_part']['of']} labeled items "
            f"were drawn by lot{_flagged(section['random_part'])}."
        )
    flags = section["high_flags"]
    if flags["traces"]:
        lines.append(f"High flags: {flags['traces']}, {flags['open']} still open.")
    lines += [
        f"Wording {rule['wording_id']}: kept in {rule['holds']}, broken in {rule['breaks']}, not "
        f"known in {rule['unknown']} of {section['wording']['checked']} messages looked at."
        for rule in section["wording"]["rules"]
    ]
    return lines


def _flagged(part: dict[str, Any]) -> str:
    """Flagged items are labeled first: as long as others that were drawn wait, they weigh too
    much."""
    waiting, most = part["waiting_traces"], max((r["flagged"] for r in part["rates"]), default=0)
    told = "" if not waiting else f", {waiting} of {part['drawn_traces']} traces drawn wait"
    if most and waiting != 0:
        told += f"; {most} carry a flag, and until none waits those weigh too much"
    return told


def review_rows(section: dict[str, Any]) -> list[list[str]]:
    """What labels say, agreement and self-consistency, as rows of question, figure, value and 95 %
    limits."""
    rows = [
        [_asked(one), "random part, weighted", *_coefficient(one)]
        for one in section["random_part"]["rates"]
    ]
    for one in section["wins"]:
        about = f"against {', '.join(one['against']) or 'others'}"
        for noun, test in (("pair", one["pairs"]), ("episode", one["by_episode"])):
            rows.append([about, f"wins by {noun}", *_share(test["wins"], None)])
            p = number(None) if test["p"] is None else f"p {number(test['p'])}"
            why = f": {test['why']}" if test["why"] else ""
            rows.append([about, f"sign test by {noun}, {test['ties']} ties apart", p + why, "-"])
    for one in section["agreement"] or ():
        about = one["criterion_id"] or one["question"]
        rows.append([about, "raw agreement", *_share(one["raw"], one["why"])])
        for name, title in (("alpha", "Krippendorff alpha"), ("ac1", "Gwet AC1")):
            rows.append([about, title, *_coefficient(one[name])])
        if one["kappa"]["value"] is not None:
            rows.append([about, "Cohen kappa", *_coefficient(one["kappa"])])
    for one in section["self_consistency"] or ():
        rows.append([one["reviewer"], "agrees with the other order", *_share(one["same"], None)])
        rows.append([one["reviewer"], "picks the left slot", *_share(one["left"], None)])
    return rows


def _asked(rate: dict[str, Any]) -> str:
    said = {
        "passes": "messages with every mark above the middle",
        "preferred": "preferred in pairs",
    }
    return said.get(rate["question"]) or f"{rate['criterion_id']} above the middle"


def _share(share: dict[str, Any], why: str | None) -> list[str]:
    if share["value"] is None:
        return [f"{number(None)}{f': {why}' if why else ''}", "-"]
    return [f"{share['hits']:g} of {share['n']}", limits(share["low"], share["high"])]


def _coefficient(found: dict[str, Any]) -> list[str]:
    if found["value"] is None:
        return [f"{number(None)}{': ' + found['why'] if found['why'] else ''}", "-"]
    return [number(found["value"]), limits(found["low"], found["high"])]


def review_summary(section: dict[str, Any]) -> str:
    """Labels in a few words."""
    text = f"{section['pairs_labelled']} pairs labelled"
    winner = next((a for a in section["agreement"] or () if a["question"] == "winner"), None)
    if winner is not None and winner["raw"]["value"] is not None:
        text += f", agreement {winner['raw']['hits']:g} of {winner['raw']['n']}"
    flags = section["high_flags"]["open"]
    if flags:
        text += f", {flags} high flag{'' if flags == 1 else 's'} open"
    return text
