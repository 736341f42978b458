"""Split integrity: looks for frozen episodes in what a candidate may have learned from.

A look that found an episode holds a release until it is withdrawn: the episode no longer measures
what it was made to. No look at all is "not measured", and holds nothing unless somebody looks.
"""

from collections.abc import Sequence
from typing import Any

UNSEEN = "no training or feedback data was looked into (reviewer suite leaks)"
MOST_NAMED = 8

_KINDS = {"exact": "the same", "inside": "within a longer text", "near": "nearly the same"}


def standing(looks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Looks that found something and were not withdrawn."""
    return [look for look in looks if look["leaks"] and not look["withdrawn"]]


def leaked_episodes(looks: Sequence[dict[str, Any]]) -> list[str]:
    """Ids of the episodes that were found, each once, sorted."""
    return sorted({leak["episode_id"] for look in standing(looks) for leak in look["leaks"]})


def split_section(looks: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The report's words for it: None where nobody looked."""
    if not looks:
        return None
    return {"leaked_episodes": leaked_episodes(looks), "looks": [dict(look) for look in looks]}


def split_lines(section: dict[str, Any] | None) -> list[str]:
    """The section in sentences."""
    if section is None:
        return [f"Not measured: {UNSEEN}."]
    return [_told(look) for look in section["looks"]]


def split_rows(section: dict[str, Any] | None) -> list[list[str]]:
    """(episode, found, index, file, place) of everything found that stands."""
    looks = section["looks"] if section else []
    return [
        [
            leak["episode_id"],
            _KINDS[leak["kind"]],
            f"{leak['jaccard']:.2f}",
            look["file"],
            f"record {leak['record']} {leak['pointer']}".rstrip(),
        ]
        for look in standing(looks)
        for leak in look["leaks"]
    ]


def _told(look: dict[str, Any]) -> str:
    found, of = len(look["leaks"]), f"{look['file']} (sha256 {look['sha256'][:12]})"
    episodes = "1 episode" if found == 1 else f"{found} episodes"
    seen = f"{look['texts']:,} texts, {look['unread']:,} records unread"
    if look["withdrawn"]:
        back = f"withdrawn by {look['withdrawn_by']}: {look['withdrawn']}"
        return f"{of}: {episodes} found in {seen}; {back}."
    near = f"near means a Jaccard index of at least {look['threshold']:g} of runs of three words"
    return f"{of}: {episodes} found in {seen}; {near}, of which {look['missed']:.2%} may be missed."
