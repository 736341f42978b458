"""Make a suite from the expectations of other tools: golden records, eval sets of Google's ADK,
BFCL categories, OpenAI evals, AgentDojo runs. (`tau2_making` handles tau2-bench.)"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.desk.workspace.suite_records import (
    Beside,
    MadeSuite,
    SourceRecord,
    digest_of,
    drafted,
    head_of,
    loaded,
    records_of,
    slug,
    told_of,
    written,
)
from reviewer.suite.derived import (
    INVENTED,
    adk,
    agentdojo,
    bfcl,
    golden,
    openai_evals,
)
from reviewer.suite.errors import shown

GOLDEN_LISTS = ("goldens", "examples", "cases", "test_cases", "records", "data")
"""Members under which tools store the records in a file that is one object."""
_CASES = ("eval_cases", "evalCases")
_ROWS = ("data", "items", "output_items")
_MOST_RUNS = 100_000
"""Most files of a folder of runs that are looked at."""


def from_golden(
    place: Workspace, file: Path, suite_id: str = "", match: golden.Match = "superset"
) -> MadeSuite:
    """Make a suite from the golden records in `file` (JSON or JSON lines). Raises DeskError."""
    records = records_of(file, GOLDEN_LISTS, head_of(file))
    drafts = drafted(
        records, lambda one, number: golden.contract_of(one, number, match), golden.named
    )
    title = f"{shown(file.name)} as contracts"
    name = suite_id or f"{slug(file.stem) or 'golden'}-v1"
    return written(place, name, title, file, drafts, Beside(told_of(file)))


def from_evalset(
    place: Workspace,
    file: Path,
    suite_id: str = "",
    match: golden.Match | None = None,
    config: Path | None = None,
) -> MadeSuite:
    """Make a suite from an eval set of Google's ADK, or from an older *.test.json. `config` is its
    test_config.json, None for the one beside it, if any; `match` overrides its way of comparing
    calls. Raises DeskError."""
    stem = re.sub(r"\.(evalset|test)\Z", "", file.stem)
    head = head_of(file)
    beside = file.parent / "test_config.json"
    if config is None and beside.is_file():
        config = beside
    criteria = adk.EXACT if config is None else _criteria(config)
    if match is not None:
        criteria = criteria._replace(compared=True, match=match, in_order=False)
    records: Iterator[SourceRecord] | list[SourceRecord] = records_of(file, _CASES, head)
    if adk.is_turn(head.first):
        records = _one_case(list(records))
    drafts = drafted(
        records,
        lambda case, number: adk.contract_of(case, f"{slug(stem) or 'case'}-{number}", criteria),
        adk.named,
    )
    told = told_of(file)
    if config is not None:
        told |= {"config": config.name, "config_sha256": digest_of(config)}
    title = f"{shown(file.name)} as contracts"
    name = suite_id or f"{slug(stem) or 'evalset'}-v1"
    questions = adk.questions_of(criteria)
    return written(place, name, title, file, drafts, Beside(told, criteria=questions))


def _criteria(config: Path) -> adk.Criteria:
    try:
        return adk.criteria_of(loaded(config))
    except ValueError as error:
        raise DeskError(f"{config}: {error}", "--config names another file") from None


def _one_case(turns: list[SourceRecord]) -> list[SourceRecord]:
    """Return the turns in a file as the single conversation that they are."""
    problem = next((f"{one.place}: {one.problem}" for one in turns if one.problem), "")
    return [SourceRecord("the file", adk.turns_of([one.value for one in turns]), problem)]


def from_bfcl(
    place: Workspace,
    file: Path,
    suite_id: str = "",
    answers: Path | None = None,
    texts: bfcl.Texts = "exact",
) -> MadeSuite:
    """Make a suite from a category of BFCL. `answers` is its file of possible answers; None is the
    one in the folder possible_answer beside the questions, if any. Raises DeskError."""
    beside = file.parent / "possible_answer" / file.name
    if answers is None and beside.is_file():
        answers = beside
    records = records_of(file, (), head_of(file))
    known = {} if answers is None else _answers(answers)
    drafts = drafted(
        records,
        lambda one, _: bfcl.contract_of(
            one, known.get(bfcl.id_of(one)) if isinstance(one, dict) else None, texts
        ),
        bfcl.id_of,
    )
    told = told_of(file)
    if answers is not None:
        told |= {"answers": answers.name, "answers_sha256": digest_of(answers)}
    name = suite_id or f"{slug(file.stem) or 'bfcl'}-v1"
    title = f"BFCL {shown(file.stem)}: calls as contracts"
    return written(place, name, title, file, drafts, Beside(told, INVENTED))


def _answers(file: Path) -> dict[str, Any]:
    """Return the possible answers by their question's id. Raises DeskError for an unreadable
    answer: its question would look as if it had none."""
    found: dict[str, Any] = {}
    for one in records_of(file, (), head_of(file)):
        problem = one.problem
        if not problem and not (isinstance(one.value, dict) and bfcl.id_of(one.value)):
            problem = "is no possible answer: it has no id"
        elif not problem and bfcl.id_of(one.value) in found:
            problem = f"the id {shown(bfcl.id_of(one.value))} is there twice"
        if problem:
            raise DeskError(f"{file}: {one.place}: {problem}", "--answers names another file")
        found[bfcl.id_of(one.value)] = one.value
    return found


def from_openai_evals(
    place: Workspace,
    file: Path,
    suite_id: str = "",
    evaluation: Path | None = None,
    answer: str = "",
) -> MadeSuite:
    """Make a suite from the rows of an OpenAI eval: a dataset, a run, or a run's output items.
    `evaluation` is the eval with its testing_criteria, where the file does not contain it; `answer`
    is the member of a row with a recorded answer. Raises DeskError."""
    head = head_of(file)
    first = head.value if isinstance(head.value, dict) else {}
    held = tuple(name for name in _ROWS if isinstance(first.get(name), list))
    messages = None
    records: Iterator[SourceRecord] | list[SourceRecord]
    if isinstance(first.get("data_source"), dict):
        records, messages = _run_rows(file)
    elif isinstance(first.get("testing_criteria"), list) and not held:
        raise DeskError(
            f"{file}: is an eval, which says how rows are graded and holds no row",
            "give its dataset, a run or a run's output items as the file, and this with --eval",
        )
    else:
        if held and "has_more" in head.names and loaded(file).get("has_more"):
            raise DeskError(
                f"{file}: is one page of a longer list (has_more)",
                "put the entries of all pages into one file, a line each",
            )
        records = records_of(file, held, head)
    graders: tuple[dict[str, Any], ...] = ()
    if evaluation is not None:
        graders = _graders(evaluation)
    elif held and "testing_criteria" in head.names:
        graders = _graders(file)
    told = openai_evals.Eval(graders, messages, answer)
    drafts = drafted(
        records, lambda row, number: openai_evals.contract_of(row, number, told),
        openai_evals.named,
    )  # fmt: skip
    source = told_of(file)
    if evaluation is not None:
        source |= {"eval": evaluation.name, "eval_sha256": digest_of(evaluation)}
    if graders:
        source["testing_criteria"] = list(graders)
    name = suite_id or f"{slug(file.stem) or 'openai-eval'}-v1"
    title = f"OpenAI eval {shown(file.name)} as contracts"
    beside = Beside(source, criteria=openai_evals.criteria_of(graders))
    return written(place, name, title, file, drafts, beside)


def _graders(file: Path) -> tuple[dict[str, Any], ...]:
    """Return the graders of an eval in a file, which is the eval or a list with only it. Raises
    DeskError."""
    value = loaded(file)
    listed = value.get("data") if isinstance(value, dict) else value
    if "testing_criteria" not in (value if isinstance(value, dict) else {}):
        value = listed[0] if isinstance(listed, list) and len(listed) == 1 else None
    try:
        found = openai_evals.graders_of(value)
    except ValueError as error:
        raise DeskError(
            f"{file}: {error}",
            "name a file that this kind of source writes: reviewer suite --help lists them",
        ) from None
    if not found:
        raise DeskError(
            f"{file}: is not one eval with testing_criteria",
            "--eval names the answer of GET /v1/evals/EVAL_ID",
        )
    return found


def _run_rows(file: Path) -> tuple[list[SourceRecord], dict[str, Any] | None]:
    """Return the rows that a run contains, and its input_messages. Raises DeskError where its rows
    are elsewhere."""
    run = loaded(file)
    told = run.get("data_source") if isinstance(run, dict) else None
    source = told.get("source") if isinstance(told, dict) else None
    rows = source.get("content") if isinstance(source, dict) else None
    if not isinstance(rows, list):
        kept = _text(source.get("id")) if isinstance(source, dict) else ""
        raise DeskError(
            f"{file}: data_source holds no rows"
            + (f": they are in the file {shown(kept)} of the service" if kept else ""),
            "give that file (GET /v1/files/FILE_ID/content), or the run's output items "
            "(GET /v1/evals/EVAL_ID/runs/RUN_ID/output_items)",
        )
    messages = told.get("input_messages") if isinstance(told, dict) else None
    records = [
        SourceRecord(f"data_source.source.content[{at}]", row) for at, row in enumerate(rows)
    ]
    return records, messages if isinstance(messages, dict) else None


def from_agentdojo(
    place: Workspace, path: Path, suite_id: str = "", require: agentdojo.Require = "all"
) -> MadeSuite:
    """Make a suite from the tasks and injections of AgentDojo runs, in one file or a folder. Their
    expectations are read from the installed package. Raises DeskError."""
    from reviewer.desk.workspace.agentdojo_tasks import Tasks

    runs = _runs(path)
    tasks = Tasks()
    drafts = drafted(
        runs, lambda run, _: agentdojo.contract_of(run, tasks.task_of(run), require),
        agentdojo.id_of,
    )  # fmt: skip
    names = {agentdojo.id_of(one.value): one.value for one in runs if isinstance(one.value, dict)}
    made = [drafted.episode["episode_id"] for drafted, _ in drafts.made]
    beside = Beside(
        {"runs": len(runs)} if path.is_dir() else told_of(path),
        INVENTED,
        episode_map={agentdojo.reader_id(names[one]): one for one in made},
    )
    name = suite_id or f"agentdojo-{slug(path.stem)}-v1"
    title = "AgentDojo: tasks and injections as contracts"
    return written(place, name, title, path, drafts, beside)


def _runs(path: Path) -> list[SourceRecord]:
    """Return the runs in a file or a folder, each combination of task and injection once. Raises
    DeskError."""
    if not path.is_dir():
        return list(records_of(path, (), head_of(path)))
    found: list[SourceRecord] = []
    met: set[str] = set()
    files = sorted(path.rglob("*.json"))
    if len(files) > _MOST_RUNS:
        raise DeskError(f"{path}: over {_MOST_RUNS} files", "name a folder of one pipeline")
    for file in files:
        where = str(file.relative_to(path))
        try:
            value, problem = loaded(file), ""
        except DeskError as error:
            value, problem = None, str(error)
        name = agentdojo.id_of(value)
        if not name or name not in met:
            found.append(SourceRecord(where, value, problem))
        met.add(name)
    if not files:
        raise DeskError(
            f"{path}: no run file (*.json) in it",
            "name the folder that has the run files, or one of them",
        )
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
