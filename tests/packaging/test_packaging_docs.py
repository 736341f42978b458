"""What the documents say is what the program does."""

import doctest
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from argparse import SUPPRESS, ArgumentParser, _SubParsersAction
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from packaging_commands import ran, typed

from reviewer.cli.parser import parser
from reviewer.db.schema import new_store_file, new_store_script
from reviewer.desk.reports.renderings import FORMATS
from reviewer.signing.signers import ROLES
from reviewer.suite.gates import GATE_CODES, OPTIONAL

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = {"", "sh", "bash", "shell", "zsh", "console"}


def blocks(document: Path, *languages: str) -> list[str]:
    found = FENCE.findall(document.read_text(encoding="utf-8"))
    return [body for language, body in found if language in languages]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_make", ROOT / "docs" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# the README's two lines ---------------------------------------------------------------------------


def test_the_readme_has_exactly_two_command_blocks_of_one_line_each() -> None:
    run, tests = blocks(ROOT / "README.md", *SHELL)
    assert [len(block.splitlines()) for block in (run, tests)] == [1, 1]
    assert run.rstrip().endswith(".venv/bin/reviewer demo")
    assert tests.rstrip().endswith(".venv/bin/python -m pytest -n auto")


@pytest.mark.parametrize("mark", ["run", "tests"])
def test_each_line_stands_under_the_mark_that_the_pipeline_looks_for(mark: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"^<!-- {mark} -->\n```sh\npython3 -m venv \.venv && .*\n```$", text, re.M)


def test_the_readme_shows_what_the_demo_prints(demo: Path) -> None:
    (shown,) = blocks(ROOT / "README.md", "text")
    printed = ran(sys.executable, "-P", "-m", "reviewer", "demo", "--headless", cwd=demo)
    assert shown == printed.partition("\n\n")[0] + "\n"


# commands named in the documents ------------------------------------------------------------------


def mentioned(document: Path) -> list[str]:
    """Every `reviewer …` in backquotes or behind a prompt, up to what a shell would do next."""
    text = document.read_text(encoding="utf-8")
    quoted = re.findall(r"`(reviewer(?: [^`]*)?)`", FENCE.sub("", text))
    typed_in = re.findall(r"^\$ (reviewer\b[^\n]*)", text, re.MULTILINE)
    run_in = re.findall(
        r"(?:^|[;&|/ ])(reviewer [^\n;&|]*)", "".join(blocks(document, "sh", "yaml"))
    )
    return [re.split(r"\s*[;&|>]", line)[0] for line in (*quoted, *typed_in, *run_in)]


@cache
def whole_parser() -> ArgumentParser:
    return parser()


def unknown_words(line: str) -> list[str]:
    """What of a command line the parser does not have: its commands, acts and options."""
    at = whole_parser()
    options = dict(at._option_string_actions)
    unknown = []
    words = iter(shlex.split(line.replace("'", '"'))[1:])
    for word in words:
        below = next((a for a in at._actions if isinstance(a, _SubParsersAction)), None)
        if word.startswith("--"):
            if word not in options:
                unknown.append(word)
            elif options[word].nargs != 0:
                next(words, None)
        elif below is not None and re.fullmatch(r"[a-z0-9_-]+(\|[a-z0-9-]+)*", word):
            names = word.split("|")
            unknown += [name for name in names if name not in below.choices]
            if names[0] in below.choices:
                at = below.choices[names[0]]
                options |= at._option_string_actions
    return unknown


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_in_the_documents_exists(document: Path) -> None:
    wrong = {line: unknown_words(line) for line in mentioned(document)}
    assert {line: words for line, words in wrong.items() if words} == {}


def test_the_search_for_commands_finds_some_and_sees_a_wrong_one() -> None:
    assert sum(len(mentioned(document)) for document in DOCUMENTS) > 20
    assert unknown_words("reviewer imprt FILE --sweet S") == ["imprt", "--sweet"]
    assert unknown_words("reviewer suite list|frieze") == ["frieze"]


def test_every_command_and_argument_has_help() -> None:
    make = generator()
    for words, command in make.commands(parser()):
        assert command.description, words
        for argument in make.arguments(command):
            assert argument.help not in (None, "", SUPPRESS), (words, argument.dest)


def test_the_list_of_commands_hides_what_is_not_for_people() -> None:
    shown = parser().format_help()
    assert "SUPPRESS" not in shown
    assert "_index" not in shown


# what is generated --------------------------------------------------------------------------------


def test_the_command_line_page_is_current() -> None:
    due = "run python docs/make.py"
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == generator().cli(), due


def test_the_man_page_is_current_and_read_without_a_warning() -> None:
    text = (ROOT / "docs" / "reviewer.1").read_text(encoding="utf-8")
    assert text == generator().man(), "run python docs/make.py"
    if shutil.which("groff"):
        page = ["groff", "-man", "-ww", "-Tutf8", "-Kutf8", "-P-cbou"]
        said = subprocess.run(page, input=text, capture_output=True, text=True, check=True)
        assert said.stderr == ""
        assert "break-glass" in said.stdout


def test_the_glossary_page_is_current() -> None:
    due = "run python docs/make.py"
    assert (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8") == generator().glossary(), (
        due
    )


def test_the_page_of_formats_is_current() -> None:
    made = generator().importable()
    due = "run python docs/make.py"
    assert (ROOT / "docs" / "importable.md").read_text(encoding="utf-8") == made, due


def test_the_tables_of_an_archive_are_those_that_are_written() -> None:
    made = generator().parquet()
    due = "run python docs/make.py"
    assert (ROOT / "docs" / "parquet.md").read_text(encoding="utf-8") == made, due


def test_the_script_for_new_stores_is_current() -> None:
    due = "run python docs/make.py"
    assert new_store_file().read_text(encoding="utf-8") == new_store_script(), due


@pytest.mark.parametrize("name", ["settings.md", "screens.md"])
def test_the_pages_about_the_workstation_are_current(name: str) -> None:
    made = generator().pages()[name]()
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == made, "run python docs/make.py"


def shape(schema: dict[str, object]) -> dict[str, object]:
    """What a schema means, without the wording that differs between releases of pydantic."""
    definitions = schema.get("$defs", {})
    assert isinstance(definitions, dict)
    return {
        name: (sorted(part.get("properties", {})), sorted(part.get("required", [])))
        for name, part in {"": schema, **definitions}.items()
    }


def test_the_published_schemas_are_current() -> None:
    # In a process of its own: what other tests register is none of the program's.
    make = f"import json, runpy; made = runpy.run_path({str(ROOT / 'docs/make.py')!r})['schemas']()"
    printed = ran(sys.executable, "-P", "-c", f"{make}; print(json.dumps(made))", cwd=ROOT)
    made: dict[str, str] = json.loads(printed)
    folder = ROOT / "docs" / "schemas"
    assert {path.name for path in folder.iterdir()} == set(made)
    for name, text in made.items():
        published = json.loads((folder / name).read_text(encoding="utf-8"))
        assert shape(published) == shape(json.loads(text)), f"{name}: run python docs/make.py"


# the tour, typed as it stands ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="the tour makes a key with ssh-keygen")
def test_the_tour_can_be_typed_as_it_stands(tmp_path: Path) -> None:
    """Every `$` line of the tour says what stands under it; `...` stands for anything."""
    same = doctest.OutputChecker().check_output
    here, count = tmp_path, 0
    for block in blocks(ROOT / "docs" / "tour.md", "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, wanted = part.partition("\n")
            count += 1
            if command.startswith("cd "):
                here /= command[3:]
                continue
            got = typed(command, here)
            assert same(wanted, got, doctest.ELLIPSIS), f"$ {command}\n{got}\nwanted:\n{wanted}"
    assert count > 10


# the pages of formats -----------------------------------------------------------------------------


def test_every_code_and_word_of_the_formats_is_on_the_page() -> None:
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    table = re.search(r"^\| gate \| codes \|\n\|---\|---\|\n((?:\|.*\n)+)", text, re.M)
    assert table is not None
    rows = dict(re.findall(r"^\| (\S+) \| (.*) \|$", table[1], re.M))
    assert sorted(rows) == sorted(GATE_CODES)
    for gate, codes in GATE_CODES.items():
        for code in codes:
            assert f"`{code}" in rows[gate], code
    for gate in OPTIONAL:
        assert f'`{{"{gate}": ' in text, gate
    for word in (*ROLES, *FORMATS):
        assert f"`{word}`" in text, word


def examples(kind: str) -> list[str]:
    """JSON blocks of formats.md that stand under `<!-- example: kind -->`."""
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    return re.findall(rf"^<!-- example: {kind} -->\n```json\n(.*?)^```$", text, re.M | re.S)


def test_the_example_traces_are_traces() -> None:
    from reviewer.trace.validate import decode

    short, long = (decode(text.encode()) for text in examples("trace"))
    assert short.events[0].kind is None
    assert {event.kind for event in long.events} >= {"tool_call", "tool_result", "message"}


def test_the_example_suite_is_a_suite(tmp_path: Path) -> None:
    from reviewer.suite.candidate import read_candidate
    from reviewer.suite.folder import suite_problems

    (suite,), (episode,), (candidate,) = map(examples, ("suite", "episode", "candidate"))
    (toolset,) = examples("toolset")
    folder = tmp_path / json.loads(suite)["suite_id"]
    (folder / "episodes").mkdir(parents=True)
    (folder / "suite.json").write_text(suite)
    (folder / "episodes" / f"{json.loads(episode)['episode_id']}.json").write_text(episode)
    (folder / "toolset.json").write_text(toolset)
    assert [str(problem) for problem in suite_problems(folder)] == []
    assert read_candidate(candidate.encode()).candidate_id == json.loads(candidate)["candidate_id"]


def test_the_keys_of_a_report_on_the_page_are_those_of_a_report(demo: Path, tmp_path: Path) -> None:
    asked = ("--export-report", tmp_path, "--candidate", "refund-agent-v7", "--format", "json")
    ran(sys.executable, "-P", "-m", "reviewer", *asked, cwd=demo, expect=10)
    report = json.loads((tmp_path / "report.json").read_bytes())
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    section = text.partition("## Report")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert [key for key in listed if key in report] == list(report)
    # where there is none
    left_out = {"tolerated", "power", "approvals", "users", "lost", "by_person", "restored"}
    assert set(listed) - set(report) <= left_out


# what is said about the dependencies --------------------------------------------------------------


def test_every_dependency_has_its_reason() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    declared = [*project["dependencies"], *(line for extra in extras for line in extra)]
    names = {re.split(r"[\[<>=~ ]", line)[0] for line in declared}
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE)) == names
