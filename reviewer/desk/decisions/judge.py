"""What a signed decision says of the judge."""

from reviewer.report.opinions import JudgeEvidence
from reviewer.signing.facts import JudgeFact


def judge_facts(judge: JudgeEvidence | None) -> tuple[JudgeFact, ...]:
    """The judge as a decision carries it: its confusion with people in forward order, where the
    message that stood left is the positive one and an answer that could not be used is wrong."""
    if judge is None or judge.prompt_digest is None or judge.label_set_sha256 is None:
        return ()
    cells = {"tp": 0, "fp": 0, "tn": 0, "fn": 0}
    for people, said, pairs in judge.confusion:
        right = said == ("tie" if people == "both_bad" else people)
        if people == "left":
            cells["tp" if right else "fn"] += pairs
        else:
            cells["tn" if right else "fp"] += pairs
    return (
        JudgeFact(
            id=judge.judge_id,
            version=f"{judge.version} by {judge.model}",
            prompt_sha256=judge.prompt_digest,
            n=judge.forward.n,
            label_set_sha256=judge.label_set_sha256,
            **cells,
        ),
    )
