"""What is played: the example workspace command by command, and every file under tests/data."""

import json
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Callable

import served_suites
from served_suites import by_hand

from behaviour.keys import write_key
from behaviour.shape import command_line
from behaviour.stage import REPOSITORY, Stage

DATA = REPOSITORY / "tests" / "data"
SUITE, V7, V8 = "refund-eval-v5", "refund-agent-v7", "refund-agent-v8"
ON_V7, ON_V8 = ("--suite", SUITE, "--candidate", V7), ("--suite", SUITE, "--candidate", V8)
FORMATS = "json,md,html,junit,sarif,github"
KINDS = (
    *("candidate", "cost", "episode", "judge", "judgment", "label", "leak-check", "note"),
    "pattern-name",
    *("policy", "rubric", "script", "suite", "trace", "no-such-kind"),
)


def _example(stage: Stage) -> None:
    """The example suites, without keeping a record of each of their files."""
    stage.run("init", "--example")
    for name in [name for name in stage.records if " → suites/" in name]:
        del stage.records[name]


def _begun(stage: Stage) -> None:
    """The example with the shipped traces of both candidates."""
    _example(stage)
    stage.run("import", f"suites/{SUITE}/traces")
    stage.run("_index")


def _report(stage: Stage, suite: str, candidate: str, *more: str) -> None:
    stage.run(
        "--export-report", "reports", "--suite", suite, "--candidate", candidate,
        "--format", FORMATS, *more,
    )  # fmt: skip


def program(stage: Stage) -> None:
    """What needs no workspace: the command line itself, the shapes of files, settings, the demo."""
    stage.keep("command line", command_line())
    stage.run("--version")
    for kind in KINDS:
        stage.run("schema", kind)
    stage.forms("formats")
    stage.forms("formats", "show", "langfuse")
    stage.forms("glossary")
    stage.run("glossary", "pass^k")
    stage.run("glossary", "atempt")
    stage.run("settings")
    stage.run("settings", "--defaults")
    stage.write("mine.toml", '[keys]\nquit = "x"\n[no]\nsuch = 1\n')
    stage.forms("settings", "--settings", "mine.toml")
    stage.run("demo", "--headless")
    stage.run("demo", "--headless", "--keep", "kept")
    for name in [name for name in stage.records if " → kept/" in name]:
        del stage.records[name]
    stage.run("scorecard")
    stage.run("run", SUITE)


def looking(stage: Stage) -> None:
    """Commands that look at the example."""
    _begun(stage)
    for act in (("list",), ("show", SUITE), ("check",), ("check", SUITE), ("diff", SUITE)):
        stage.forms("suite", *act)
    stage.forms("suite", "code", SUITE, V7)
    stage.forms("suite", "start-digest", SUITE)
    stage.forms("suite", "start-digest", SUITE, "damaged-221")
    stage.forms("scorecard", *ON_V7)
    stage.forms("scorecard", *ON_V8)
    stage.run("scorecard", *ON_V7, "--filter", "gate:authority", "--json")
    stage.run("scorecard", *ON_V7, "--filter", "tool:issue_refund cost>0.01", "--plain")
    stage.run("scorecard", *ON_V7, "--filter", "no-such:thing")
    for sort in ("state", "authority", "episode", "cost", "no-such-column"):
        stage.run("scorecard", *ON_V7, "--sort", sort, "--plain")
    stage.run("scorecard", *ON_V7, "--sort", "cost", "--descending", "--plain")
    stage.run("scorecard", *ON_V7, "--failing", "--plain")
    stage.forms("scorecard", *ON_V7, "--group", "tag")
    stage.forms("scorecard", *ON_V7, "--group", "category")
    stage.forms("trends", "--suite", SUITE)
    stage.forms("patterns", "--suite", SUITE)
    stage.run("patterns", *ON_V8, "--candidate", V7)
    stage.run("patterns", "--suite", SUITE, "--candidate", "no-such-candidate")
    stage.forms("patterns", "names", "--suite", SUITE)
    stage.run("patterns", "name", "0123456789ab", "none", "--suite", SUITE)
    stage.forms("compare", *ON_V8, "--baseline", V7)
    stage.forms("compare", "attack-014", *ON_V8, "--baseline", V7)
    attempts = [f"{SUITE}/{V7}/damaged-221/{n}" for n in (1, 2)]
    stage.forms("compare", "--attempts", *attempts)
    for trace in stage.traces():
        stage.forms("show", trace)
    for seq in range(1, 6):
        stage.forms("show", f"{SUITE}/{V7}/attack-014/1", "--event", seq)
    for by in ("turns", "agents"):
        stage.forms("show", f"{SUITE}/{V7}/attack-014/1", "--by", by)
    stage.run("show", f"{SUITE}/{V7}/attack-014/9")
    stage.forms("search", "refund", *ON_V7)
    stage.forms("search", "no", "such", "words")
    for command in ("quarantine", "sources", "doctor", "score"):
        stage.forms(command)
    stage.run("score", "--suite", SUITE)
    stage.forms("quarantine", "show")
    _report(stage, SUITE, V7)
    _report(stage, SUITE, V8)
    _report(stage, SUITE, V8, "--baseline", V7)
    _report(stage, SUITE, "no-such-candidate")
    tables = stage.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name")
    stage.keep("store: schema", "\n".join(f"{kind} {name}\n{sql}" for kind, name, sql in tables))
    stage.run("--export-report", "small", *ON_V8, "--format", "json", "--json")
    stage.run("--export-report", "small", *ON_V8, "--format", "json", "--plain")
    stage.run("--export-report", "quiet", *ON_V8, "--format", "md", "--quiet")
    stage.keep_store()


def running(stage: Stage) -> None:
    """Runs of the candidates that come with the example, and their reports."""
    _example(stage)
    one = ("--jobs", "1")
    stage.run("run", SUITE, V7, *one)
    stage.run("run", SUITE, V8, *one, "--json")
    stage.run("run", SUITE, V8, *one, "--attempts", "2", "--plain", "--seed", "3")
    stage.run("run", SUITE, V8, *one, "--resume", "--attempts", "5", "--approve", "allow")
    stage.run("run", SUITE, V8, *one, "--resume", "--attempts", "4", "--workers", "0")
    stage.run("run", SUITE, "no-such-candidate", *one)
    for suite in ("drug-info-v1", "file-tools-v1", "payouts-v1"):
        for manifest in sorted((stage.root / "suites" / suite / "candidates").glob("*.json")):
            stage.run("run", suite, manifest.stem, *one, "--traces", f"{manifest.stem}.jsonl")
            _report(stage, suite, manifest.stem)
            stage.forms("scorecard", "--suite", suite, "--candidate", manifest.stem)
    stage.run("_index")
    _report(stage, SUITE, V8, "--baseline", V7)
    stage.run("trends")
    stage.forms("trends", "--suite", SUITE)
    stage.run("doctor")
    stage.keep_store()


def sharding(stage: Stage) -> None:
    """A run in two shards, each in a workspace of its own, joined in a third."""
    parts = [("--workspace", f"part-{number}") for number in (1, 2)]
    for part in (*parts, ()):
        stage.run(*part, "init", *part[1:])
        stage.copy(REPOSITORY / "suites" / SUITE, "/".join([*part[1:], "suites", SUITE]))
    one = ("--jobs", "1")
    for number, part in enumerate(parts, 1):
        stage.run(*part, "run", SUITE, V8, *one, "--shard", f"{number}/2", "--json")
        stage.run("merge", f"part-{number}/store/review.db")
        _report(stage, SUITE, V8)
    stage.run(*parts[0], "run", SUITE, V8, *one, "--shard", "1/2")
    stage.run(*parts[0], "run", SUITE, V8, *one, "--resume")
    stage.run("run", SUITE, V8, *one, "--shard", "3/2")
    stage.run("run", SUITE, V8, *one, "--executor", "no-such-engine")
    stage.run("merge", "part-1/store/review.db")
    stage.run("vacuum")
    stage.run("vacuum", "--seconds", "5")
    stage.run("doctor")
    stage.keep_store()


def reviewing(stage: Stage) -> None:
    """Labels, judgments, notes and costs, and the reports that count them."""
    _begun(stage)
    stage.forms("labels", "queue", *ON_V8)
    stage.forms("labels", "queue", *ON_V8, "--baseline", V7)
    stage.forms("labels", "queue", *ON_V8, "--messages")
    stage.run("labels", "import", f"suites/{SUITE}/labels/shopflow.jsonl")
    stage.run("judgments", "import", f"suites/{SUITE}/judgments/shopflow.jsonl", "--json")
    stage.run("labels", "import", f"suites/{SUITE}/labels/shopflow.jsonl", "--plain")
    stage.forms("labels", "queue", *ON_V8)
    stage.run("labels", "export", "--suite", SUITE)
    stage.run("labels", "export", "labels.jsonl")
    stage.run("judgments", "export", "--suite", SUITE)
    stage.run("judgments", "export", "judgments.jsonl")
    stage.forms("judge", SUITE, "--candidate", V8, "--dry-run")
    stage.forms("judge", SUITE, "--candidate", V8, "--dry-run", "--messages", "--repeats", "2")
    stage.run(
        "judge", SUITE, "--candidate", V8, "--baseline", V7, "--pairs", "--dry-run", "--jobs", "1",
        "--model", "another", "--input-price", "0.5", "--output-price", "2",
    )  # fmt: skip
    trace = f"{SUITE}/{V7}/attack-014/1"
    stage.run("notes", "add", trace, "a refund that [b]nobody[/b] approved", "--seq", "2")
    stage.run("notes", "add", trace, "mail me at jo@example.com", "--seq", "3", "--json")
    stage.run("notes", "bookmark", trace, "--seq", "2", "--plain")
    stage.forms("notes", "list")
    stage.forms("notes", "list", trace)
    stage.run("notes", "list", *ON_V7)
    stage.run("notes", "remove", trace, "--seq", "2", "--bookmark")
    stage.run("notes", "export", "--suite", SUITE)
    stage.run("notes", "export", "notes.jsonl")
    stage.run("notes", "import", "notes.jsonl")
    cost = ("costs", "add", *ON_V8)
    stage.run(*cost, "--kind", "human", "--amount", "12.50", "--note", "two hours", "--id", "h-1")
    stage.run(*cost, "--kind", "incident", "--amount", "3", "--currency", "USD", "--json")
    stage.run(*cost, "--kind", "human", "--amount", "11", "--corrects", "h-1", "--plain")
    stage.run(*cost, "--kind", "human", "--amount", "nan")
    stage.forms("costs", "list")
    stage.run("costs", "list", *ON_V8)
    stage.forms("show", trace)
    stage.forms("scorecard", *ON_V8)
    _report(stage, SUITE, V7)
    _report(stage, SUITE, V8, "--baseline", V7)
    stage.copy(DATA / "annotations", "data/annotations")
    theirs = (
        "--from",
        "agent-reward-bench",
        "--suite",
        SUITE,
        "--candidate",
        f"GenericAgent-one={V8}",
    )
    mapped = ("trajectory_success=accurate:Successful=1", "trajectory_success=accurate:Failed=2")
    stage.run("labels", "import", "data/annotations/agent_reward_bench.csv", *theirs)
    stage.forms(
        "labels", "import", "data/annotations/agent_reward_bench.csv", *theirs, "--map", *mapped
    )
    attack, on = "78ad730afdca", ("--suite", SUITE)
    stage.run("patterns", "name", attack, "refunds [b]first[/b]", *on, "--note", "jo@example.com")
    stage.run("patterns", "name", attack, "no review", *on, "--json")
    stage.forms("patterns", *on)
    stage.run("patterns", "unname", attack, *on)
    stage.forms("patterns", "names", *on)
    stage.keep_store()


def production(stage: Stage) -> None:
    """Review sets: of files, of a suite, as pairs, with a rubric; and orders that mean nothing."""
    _begun(stage)
    stage.copy(DATA / "tau_bench", "data/tau_bench")
    flags = "thumbs-down,high-cost,new-tools,refusals,repeated-calls"
    stage.run("review-set", "list")
    airline = (
        *("data/tau_bench", "--sample", "40%", "--seed", "3", "--strata", "tool,outcome,cost"),
        *("--flags", flags, "--high-cost", "0.5", "--format", "tau-bench", "--name", "airline"),
    )
    stage.run("review-set", *airline)
    stage.run("review-set", *airline, "--quiet", "--json")
    stage.forms("review-set", "show", "airline")
    stage.run("review-set", "show", "airline", "--items")
    own = f"suites/{SUITE}/rubric.json"
    stage.run("review-set", SUITE, "--rubric", own, "--candidate", V8, "--strata", "outcome")
    stage.run("review-set", f"{SUITE}/{V8}", "--pairs", "--baseline", V7, "--sample", "100%")
    stage.run("review-set", f"suites/{SUITE}/traces", "--suite", SUITE, "--name", "airline")
    talks = ("--about", "user", "--format", "tau-bench", "--name", "users")
    stage.run("review-set", "data/tau_bench", *talks, "--sample", "40%")
    stage.run("review-set", SUITE, "--about", "user")
    stage.run("review-set", SUITE, "--about", "agent")
    stage.run("review-set", SUITE, "--sample", "0%")
    stage.run("review-set", SUITE, "--flags", "sad")
    stage.run("review-set", "no-such-source")
    stage.run("review-set", "show", "no-such-set")
    stage.forms("review-set", "list")
    stage.run("labels", "export", "--suite", SUITE)
    stage.keep_store()


def deciding(stage: Stage) -> None:
    """Decisions: sign, verify, export, take, break glass, state a loss; and a merged store."""
    _begun(stage)
    for who in ("ann", "bob"):
        write_key(stage.root / "keys" / who)
    stage.look()
    stage.forms("keys")
    stage.run("keys", "trust", "ann", "keys/ann.pub", "--roles", "approver,runner,breakglass")
    stage.run("keys", "trust", "bob", "keys/bob.pub", "--roles", "approver", "--json")
    stage.forms("keys", "list")
    ann, bob = ("--key", "keys/ann"), ("--key", "keys/bob")
    stage.run("attest", *ON_V8, *ann)
    _report(stage, SUITE, V8, "--baseline", V7)
    stage.run(
        "sign", *ON_V8, "--decision", "PROMOTE", *ann, "--comment", "looks well", "--baseline", V7
    )
    stage.run("sign", *ON_V7, "--decision", "BLOCK", *ann, "--environment", "staging", "--json")
    stage.run("sign", *ON_V7, "--decision", "PROMOTE", *ann)
    signed = sorted(stage.root.glob("store/decisions/*.dsse.json"))
    trusting = ("--signers", "store/signers", "--candidate-manifest")
    v7, v8 = (f"suites/{SUITE}/candidates/{name}.json" for name in (V7, V8))
    for decision, manifest in zip(signed, (v8, v7), strict=True):
        name = decision.relative_to(stage.root)
        verify = ("verify", name, *trusting, manifest)
        stage.run("sign", "--add", name, *bob)
        stage.forms(*verify)
        stage.run(*verify, "--threshold", "3")
        stage.run(*verify, "--environment", "elsewhere")
        stage.run(*verify, "--candidate-folder", f"suites/{SUITE}")
        stage.run(*verify, "--suite-digest", "0" * 64)
        stage.run(*verify, "--policy-digest", "0" * 64, "--json")
        stage.run(*verify, "--signers-digest", "0" * 64)
        stage.run(*verify, "--attestations", "store/attestations")
        stage.run(
            *verify, "--min-seq", "1", "--suite-folder", f"suites/{SUITE}",
            "--at", "2026-11-02T00:00:00Z",
        )  # fmt: skip
    stage.run("verify", signed[0], *trusting, v8, "--report", "reports/report.json")
    folder = ("verify", "store/decisions", *trusting, v8)
    stage.forms(*folder)
    stage.forms("decisions", "list")
    stage.run("witness")
    stage.run(*folder, "--witness", "store/witness")
    stage.run("decisions", "export", "1", "release", *ann)
    stage.run("--export-report", "signed", *ON_V8, "--sign", "keys/ann", "--format", FORMATS)
    stage.run(
        "break-glass", *ON_V7, *ann, "--reason", "the till is down", "--hours", "4",
        "--environment", "production",
    )  # fmt: skip
    stage.forms("decisions", "list")
    stage.run("backup", "copy.db")
    stage.run("restore", "copy.db")
    stage.run("restore", "copy.db", "--replace")
    stage.run("loss", *ann, "--reason", "the disk broke")
    stage.run("doctor")
    stage.run("doctor", "--json")
    other = ("--workspace", "other")
    stage.run(*other, "init", "other")
    stage.copy(stage.root / "suites" / SUITE, f"other/suites/{SUITE}")
    stage.run(*other, "import", f"suites/{SUITE}/traces/{V7}.jsonl")
    stage.run(*other, "merge", "store/review.db")
    stage.run(*other, "merge", "store/review.db", "--json")
    stage.run(*other, "decisions", "take", "store/decisions/1-promote-refund-agent-v8.dsse.json")
    stage.copy(stage.root / "store" / "signers", "other/store/signers")
    stage.run(*other, "decisions", "take", *sorted(stage.root.glob("store/decisions/*.json")))
    stage.run(*other, "decisions", "list")
    _report(stage, SUITE, V7)
    stage.keep_store()


def suites(stage: Stage) -> None:
    """Suites made, frozen, changed and looked for in training data."""
    _begun(stage)
    stage.copy(stage.root / "suites" / SUITE, "suites/refund-eval-v6")
    stage.run("suite", "check", "refund-eval-v6")
    stage.run("suite", "freeze", "refund-eval-v6", "--as", "refund-eval-v6")
    stage.run("suite", "freeze", SUITE, "--as", "refund-eval-v7")
    stage.run("suite", "freeze", "refund-eval-v7")
    stage.run("run", "refund-eval-v7", V8, "--jobs", "1")
    stage.forms("suite", "lineage", "refund-eval-v7", SUITE, "--reason", "one word in a rubric")
    stage.run("suite", "lineage", "refund-eval-v7")
    stage.run("suite", "diff", "refund-eval-v7", "--json")
    episode = stage.root / "suites" / "refund-eval-v7" / "episodes" / "damaged-221.json"
    if episode.exists():
        stage.write(str(episode.relative_to(stage.root)), episode.read_text().replace("221", "222"))
    for act in ("check", "diff", "show"):
        stage.run("suite", act, "refund-eval-v7")
    stage.write(
        "golden.csv",
        "question,answer,expected_tools\nWhere is order 7?,It is on its way,get_order\n",
    )
    stage.write("golden.json", json.dumps(GOLDEN))
    for name in ("golden.csv", "golden.json"):
        stage.run("suite", "from-golden", name, "--as", f"from-{name.split('.')[1]}")
    stage.run(
        "suite", "from-golden", "golden.json", "--as", "subset", "--match", "subset", "--json"
    )
    for found in sorted((DATA / "tau2").glob("*.json")):
        stage.copy(found, f"tau2/{found.name}")
        stage.run(
            "suite", "from-tau2", f"tau2/{found.name}", "--as", found.stem[:40].lower(),
            "--domain", "airline", "--require", "writes",
        )  # fmt: skip
    stage.write("policy.md", "# Policy\n\nBe kind.\n")
    stage.run(
        "suite", "from-tau2", "tau2/mock_tasks.json", "--as", "with-policy", "--domain", "mock",
        "--policy", "policy.md", "--json",
    )  # fmt: skip
    first = json.loads(
        (stage.root / "suites" / SUITE / "episodes" / "damaged-221.json").read_text()
    )
    stage.write("train.jsonl", json.dumps({"prompt": json.dumps(first)}) + "\n" + "{}\n")
    stage.run("suite", "leaks", "train.jsonl", "--suite", SUITE, "--dry-run")
    stage.forms("suite", "leaks", "train.jsonl", "--suite", SUITE, "--candidate", V8)
    stage.run("suite", "leaks", "--list", "--json")
    stage.run("suite", "leaks", "train.jsonl", "--suite", SUITE, "--threshold", "0.3", "--plain")
    looks = stage.rows("SELECT DISTINCT uid FROM leaks ORDER BY uid")
    for (uid,) in looks[:1]:
        stage.run("suite", "leaks", "--withdraw", uid, "--reason", "another file")
    stage.run("suite", "leaks", "--list")
    _report(stage, SUITE, V8)
    stage.keep_store()


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": words,
            "parameters": {
                "type": "object",
                "properties": {one: {"type": "string"} for one in given},
                "required": given,
            },
        },
    }
    for name, words, given in (
        ("find_book", "Find a book by its title.", ["title"]),
        ("lend_book", "Lend a book to a member.", ["book_id", "member_id"]),
        ("recall", "Ask for a book back.", ["book_id"]),
    )
]


def drafts(stage: Stage) -> None:
    """A suite made around tools and run while it is a draft, manifests, episodes of attempts."""
    _begun(stage)
    stage.write("tools.json", json.dumps(TOOLS))
    new = ("suite", "new", "library", "--tools", "tools.json")
    stage.run("suite", "new")
    stage.run(*new, "--reads", "find_book,no_such_tool")
    stage.run(*new, "--reads", "find_book", "--writes", "lend_book,recall")
    stage.run(*new)
    stage.forms("suite", "check", "library")
    for name in ("scripted-passes", "scripted-fails", "scripted-does-nothing"):
        stage.run("run", "library", name, "--jobs", "1")
    stage.run("run", "library", "scripted-passes", "--jobs", "1", "--episode", "golden")
    stage.forms("scorecard", "--suite", "library", "--candidate", "scripted-fails")
    _report(stage, "library", "scripted-passes")
    stage.run("import", f"suites/{SUITE}/traces", "--suite", "library")
    stage.run("--draft", "library", "import", f"suites/{SUITE}/traces")
    stage.run("--draft", "library", "--export-report", "reports")
    stage.write("prompt.txt", "Be kind.\n")
    asked = ("--model", "m-1", "--base-url", "http://127.0.0.1:9/v1", "--api-key-env", "KEY")
    stage.run("candidate", "new", "library", "by-model", *asked, "--prompt", "prompt.txt")
    stage.run("candidate", "new", "library", "by-command", "--command", "agent --once")
    stage.run("candidate", "new", "library", "by-module", "--kind", "python", "--entry", "a:b")
    stage.run("candidate", "new", "library", "by-script", "--kind", "scripted", "--json")
    for name in ("by-model", "scripted-passes", "no-such-candidate"):
        stage.run("candidate", "pin", "library", name)
    stage.run("suite", "freeze", "library")
    stage.run("suite", "draft", "library", "--as", "library-2")
    stage.run("suite", "draft", SUITE, "--as", "refund-eval-v6")
    stage.run("suite", "draft", SUITE, "--as", "refund-eval-v6")
    stage.run("suite", "check", "refund-eval-v6")
    failed = f"{SUITE}/{V7}/attack-014/1"
    marks = ("--wrong", "issue_refund", "--required", "lookup_order")
    made = ("episode", "from-trace", failed, *marks)
    stage.run(*made, "--with", f"{SUITE}/{V8}/attack-014/1", "--id", "attack", "--out", "attack-v1")
    stage.run("episode", "prove", "attack-v1", "attack")
    stage.run(*made, "--id", "attack", "--out", "attack-v1")
    stage.run(*made, "--id", "attack", "--out", "attack-v1", "--replace")
    stage.run(*made, "--into", "library", "--json")
    stage.run("suite", "check")
    stage.run("episode", "from-trace", f"{SUITE}/{V7}/attack-014/9")
    stage.run("doctor")
    stage.keep_store()


def served(stage: Stage) -> None:
    """A suite whose world is an MCP server, and servers that break."""
    stage.run("init")
    act = "os._exit(3) if name == 'label' else None"
    dies = f"answers = call\ncall = lambda name, given: {act} or answers(name, given)"
    for name, program, more in (
        ("served", "", {}),
        ("dies", dies, {}),
        ("lies", "del TOOLS['label']", {}),
        ("wide", "", {"network": True}),
        ("blind", "", {"state": None}),
    ):
        command = ["python3", "./shop.py", "{initial_state}"]
        limits = {"start_s": 300, "call_s": 300}
        folder = served_suites.write(
            stage.root, by_hand(program), suite_id=name, command=command, **limits, **more
        )
        turns = served_suites.calls("label"), served_suites.calls("lookup")
        served_suites.script(folder, *turns, served_suites.says("It is on its way."))
    stage.look()
    stage.run("suite", "check", "served")
    stage.run("suite", "trial", "served")
    stage.run("suite", "freeze", "served")
    stage.run("run", "served", "agent", "--attempts", "2", "--jobs", "1", "--quiet")
    stage.forms("show", "served/agent/return/1")
    stage.run("show", "served/agent/refuse/2", "--event", "1")
    _report(stage, "served", "agent")
    for name in ("dies", "lies", "wide"):
        stage.run("run", name, "agent", "--attempts", "1", "--jobs", "1", "--quiet")
        stage.run("suite", "trial", name)
    for name in ("dies", "lies"):
        stage.run("show", f"{name}/agent/return/1", "--plain")
    stage.run("suite", "check", "blind")
    toolset = json.loads((stage.root / "suites" / "blind" / "toolset.json").read_text())
    del toolset["server"]
    held = {"image": "shop", "exec": {"lookup": ["cat", "{file}"]}}
    stage.write("suites/blind/toolset.json", json.dumps({**toolset, "container": held}))
    stage.run("suite", "check", "blind")
    stage.run("suite", "freeze", "wide")
    stage.keep_store()


def expectations(stage: Stage) -> None:
    """Suites of what other tools expect of an agent."""
    _begun(stage)
    stage.copy(DATA / "suite_sources", "told")
    stage.copy(DATA / "formats_c" / "agentdojo", "runs")
    stage.copy(DATA / "formats_c" / "google-adk" / "lamps.evalset.json", "told/adk/lamps.json")
    for found in sorted((stage.root / "told" / "adk").iterdir()):
        stage.run("suite", "from-evalset", f"told/adk/{found.name}")
    lamps = ("suite", "from-evalset", "told/adk/lamps.json", "--as", "lamps-any")
    stage.run(*lamps, "--match", "superset", "--json")
    stage.run("suite", "from-evalset", "told/adk_config/simple.test.json")
    stage.run(
        "suite", "from-evalset", "told/adk/tools.test.json", "--as", "share",
        "--config", "told/adk_config/test_config.json",
    )  # fmt: skip
    for found in sorted((stage.root / "told" / "bfcl").glob("*.json")):
        stage.run("suite", "from-bfcl", f"told/bfcl/{found.name}")
    stage.copy(DATA / "suite_sources" / "bfcl" / "BFCL_v4_parallel.json", "alone.json")
    stage.run("suite", "from-bfcl", "alone.json")
    stage.run(
        "suite", "from-bfcl", "alone.json", "--texts", "free", "--as", "free", "--json",
        "--answers", "told/bfcl/possible_answer/BFCL_v4_parallel.json",
    )  # fmt: skip
    for name in ("agent_tool_routing.jsonl", "tickets.jsonl", "eval.json"):
        stage.run("suite", "from-openai-evals", f"told/openai_evals/{name}")
    told = ("--eval", "told/openai_evals/eval.json")
    for name in ("run", "output_items"):
        rows = f"told/openai_evals/{name}.json"
        stage.run("suite", "from-openai-evals", rows, *told, "--as", name.replace("_", "-"))
    stage.run(
        "suite", "from-openai-evals", "told/openai_evals/tickets.jsonl", *told,
        "--answer", "answer", "--as", "tickets", "--json",
    )  # fmt: skip
    stage.run("suite", "from-agentdojo", "runs", "--require", "writes", "--as", "dojo")
    stage.run("suite", "check")


EPISODE_MAP = {
    "schema": "reviewer/episode-map@1",
    "episodes": {"their id": "damaged-221"},
    "tools": {"mcp__shop__verify_state": "verify_state"},
}
GOLDEN = [
    {
        "input": "Where is order 7?",
        "expected_output": "It is on its way",
        "expected_tools": [{"name": "get_order", "args": {"id": 7}}],
    }
]


def importing(stage: Stage) -> None:
    """Ways to import, and records that are refused."""
    _example(stage)
    traces = f"suites/{SUITE}/traces/{V7}.jsonl"
    stage.forms("formats", "check", traces, "suites")
    lines = (stage.root / traces).read_text(encoding="utf-8").splitlines()
    stage.run("import", traces, "--dry-run")
    stage.run("import", traces, "--dry-run", "--json")
    stage.run("import", "-", "--format", "native", "--candidate", "from-stdin", stdin=lines[0])
    stage.run("import", traces, "--progress", "json")
    stage.run("import", traces, "--quiet")
    bad = [
        lines[0].replace('"cost_usd":', '"cost_usd":-'),
        lines[1].replace('"attempt":', '"attempt":0'),
        lines[2][:-1] + ',"no_such_key":1}',
        "not json",
        '{"a":1,"a":2}',
        lines[3].replace(V7, "mailed-jo@example.com"),
        lines[4].replace("completed", "\\u001b[31mcompleted"),
    ]
    stage.write("bad.jsonl", "\n".join(bad) + "\n")
    stage.write("map.json", json.dumps(EPISODE_MAP))
    stage.run("import", "bad.jsonl", "--suite", SUITE)
    stage.run("import", "bad.jsonl", "--suite", SUITE, "--json")
    stage.run("import", "no-such-file.jsonl")
    stage.run("import", traces, "--suite", SUITE, "--episode-map", "map.json")
    theirs = [line.replace('"damaged-221"', '"their id"').replace(V7, "mapped") for line in lines]
    stage.write(
        "theirs.jsonl", "\n".join(theirs).replace('"verify_state"', '"mcp__shop__verify_state"')
    )
    stage.run("import", "theirs.jsonl", "--suite", SUITE, "--episode-map", "map.json")
    changed = [line.replace('"latency_ms":', '"latency_ms":1') for line in lines]
    stage.write("changed.jsonl", "\n".join(changed) + "\n")
    stage.run("import", "changed.jsonl")
    stage.run("_index")
    stage.forms("quarantine")
    stage.forms("quarantine", "show")
    stage.forms("quarantine", "show", "bad.jsonl")
    stage.forms("sources")
    stage.forms("scorecard", *ON_V7)
    stage.run("doctor", "--plain")
    _report(stage, SUITE, V7)
    _sessions(stage)
    stage.keep_store()


def _sessions(stage: Stage) -> None:
    """Sessions of a coding agent where it keeps them: listed, and chosen in three ways."""
    kept = stage.home / ".claude" / "projects" / "-work-shop"
    shutil.copytree(DATA / "formats_c" / "claude-code", kept)
    (kept / "stream-json.jsonl").unlink()
    for file in kept.rglob("*.jsonl"):
        os.utime(file, (1_790_000_000, 1_790_000_000))  # sessions are listed with their date
    chosen = ("import", "--from", "claude-code")
    stage.run(*chosen)
    stage.forms(*chosen, "--list")
    for which in (("--session", "nothing"), ("--session", "9a7b165c"), ("--all",)):
        stage.run(*chosen, *which, "--dry-run")  # the store would hold where the home folder is
    stage.run(*chosen, "--project", "-work-shop", "--dry-run", "--json")


def data(stage: Stage, kind: str) -> None:
    """Every file of a folder under tests/data by itself, then the folder as one."""
    stage.run("init")
    stage.copy(DATA / kind, f"data/{kind}")
    paths = sorted(path for path in (DATA / kind).rglob("*") if path.is_file())
    names = [f"data/{path.relative_to(DATA).as_posix()}" for path in paths]
    known: set[str] = set()
    for name in [*names, f"data/{kind}"]:
        stage.run("import", name)
        new = [trace for trace in stage.traces() if trace not in known]
        known.update(new)
        for trace in new[:1]:
            stage.run("show", trace)
        for suite, candidate in sorted({tuple(trace.split("/")[:2]) for trace in new}):
            _report(stage, suite, candidate)
            stage.run("scorecard", "--suite", suite, "--candidate", candidate)
    stage.run("import", f"data/{kind}", "--json")
    stage.forms("quarantine")
    stage.forms("sources")
    if stage.store.exists():
        stage.keep_store()


def stores(stage: Stage) -> None:
    """Stores of earlier versions: opened, checked, reported."""
    for archive in sorted((DATA / "stores").glob("*.tar.xz")):
        target = stage.root / archive.name.split(".")[0]
        target.mkdir()
        with tarfile.open(archive) as held:
            held.extractall(target, filter="data")
        stage.look()
        (database,) = target.rglob("review.db")
        within = ("--workspace", database.parents[1].relative_to(stage.root))
        for command in (("doctor",), ("scorecard", "--json"), ("sources",), ("decisions", "list")):
            stage.run(*within, *command)
        with sqlite3.connect(database) as base:
            pairs = base.execute(
                "SELECT DISTINCT s.suite_id, c.candidate_id FROM candidate c"
                " JOIN suite s ON s.id = c.suite ORDER BY 1, 2"
            ).fetchall()
        for suite, candidate in pairs:
            release = ("--suite", suite, "--candidate", candidate)
            stage.run(*within, "scorecard", *release, "--json")
            stage.run(*within, "--export-report", "out", *release, "--format", FORMATS)


Scene = Callable[[Stage], None]


def _of_data(kind: str) -> Scene:
    return lambda stage: data(stage, kind)


SCENES: dict[str, Scene] = {
    play.__name__: play
    for play in (
        program,
        looking,
        running,
        sharding,
        reviewing,
        production,
        deciding,
        suites,
        expectations,
        drafts,
        served,
        importing,
        stores,
    )
} | {
    f"data-{folder.name}": _of_data(folder.name)
    for folder in sorted(DATA.iterdir())
    if folder.is_dir() and folder.name not in ("stores", "oracles")
}
"""Scenes by name; each plays in a workspace of its own."""
