"""How large the package is, and how much of it a change or a command touches.

`python benchmarks/house.py` measures this tree; `--tree DIR` measures another checkout with the
same installed dependencies. Lines are physical lines. A record class is counted by its kind, also
where it inherits the kind from another class of the package.
"""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KINDS = {
    "NamedTuple": "NamedTuple",
    "Struct": "msgspec Struct",
    "BaseModel": "pydantic model",
    "TypedDict": "TypedDict",
    "Protocol": "Protocol",
}
DATACLASS = "dataclass"
RECIPES = {
    "a gate (`completeness`)": '"completeness"',
    "a format (`osworld`)": "osworld",
    "a column of the scorecard (`mean_cost_usd`)": "mean_cost_usd",
}
"""The three recipes of CONTRIBUTING, each with an example: the text that every file holds which the
recipe touches. Files of the package are counted, without tests and pages."""
SUITE, CANDIDATE = "refund-eval-v5", "refund-agent-v8"


def trees(tree: Path) -> Iterator[tuple[Path, str, ast.Module]]:
    for path in sorted((tree / "reviewer").rglob("*.py")):
        text = path.read_text("utf-8")
        yield path, text, ast.parse(text)


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name, of a subscript or call of one, else empty."""
    while isinstance(node, ast.Subscript | ast.Call):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def record_classes(modules: list[ast.Module]) -> Counter[str]:
    classes = [n for module in modules for n in ast.walk(module) if isinstance(n, ast.ClassDef)]
    kind_of = dict(KINDS)
    grown = True
    while grown:  # a base may stand in a module that comes later
        grown = False
        for one in classes:
            kind = next((kind_of[b] for b in map(last_name, one.bases) if b in kind_of), None)
            if kind and kind_of.setdefault(one.name, kind) == kind and one.name not in KINDS:
                grown = grown or not hasattr(one, "kind")
                one.kind = kind  # type: ignore[attr-defined]
    found = Counter(getattr(one, "kind", "") for one in classes)
    found[DATACLASS] = sum(DATACLASS in map(last_name, one.decorator_list) for one in classes)
    return found


def report_reads(modules: list[ast.Module]) -> int:
    """Subscripts and `.get` with a literal text, of something that is called `report`."""

    def of_report(node: ast.expr) -> bool:
        while isinstance(node, ast.Subscript | ast.Call | ast.Attribute):
            if isinstance(node, ast.Attribute) and node.attr == "report":
                return True
            node = node.func if isinstance(node, ast.Call) else node.value
        return isinstance(node, ast.Name) and node.id == "report"

    count = 0
    for node in (node for module in modules for node in ast.walk(module)):
        if isinstance(node, ast.Subscript):
            key, base = node.slice, node.value
        elif isinstance(node, ast.Call) and last_name(node.func) == "get" and node.args:
            key, base = node.args[0], node.func
        else:
            continue
        count += isinstance(key, ast.Constant) and isinstance(key.value, str) and of_report(base)
    return count


class Commands:
    """A workspace in which commands of one tree are run, to see what each of them loads."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "100"}
        self.loaded("init", "--example", str(folder))
        for candidate in ("refund-agent-v7", CANDIDATE):
            traces = str(folder / f"{candidate}.jsonl")
            self.loaded("run", SUITE, candidate, "--quiet", "--traces", traces)
        key = folder / "key"
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
        subprocess.run(make, check=True)
        self.loaded("keys", "trust", "dana", f"{key}.pub")

    def loaded(self, *words: str) -> tuple[int, int]:
        """(modules of the package, all modules) that a command imports in its own process."""
        command = [sys.executable, "-P", "-X", "importtime", "-m", "reviewer", *words]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=300,
            check=False,
        )
        if done.returncode not in (0, 10, 20):
            raise SystemExit(f"{' '.join(words)}: {done.returncode}\n{done.stderr[-2000:]}")
        lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
        names = {line.rpartition("|")[2].strip() for line in lines}
        return sum(name.partition(".")[0] == "reviewer" for name in names), len(names)

    def table(self) -> Iterator[tuple[str, tuple[int, int]]]:
        release = ("--suite", SUITE, "--candidate", CANDIDATE)
        trace = f"{SUITE}/refund-agent-v7/attack-014/1"
        manifest = f"suites/{SUITE}/candidates/{CANDIDATE}.json"
        verified = ("store/decisions", "--candidate-manifest", manifest)
        for name, words in {
            "--help": ("--help",),
            "quarantine list": ("quarantine", "list"),
            "show": ("show", trace),
            "scorecard": ("scorecard", *release),
            "labels": ("labels", "export"),
            "--export-report": ("--export-report", "out", *release),
            "sign": ("sign", *release, "--key", "key"),
            "verify": ("verify", *verified, "--signers", "store/signers"),
            "import": ("import", f"{CANDIDATE}.jsonl"),
        }.items():
            yield name, self.loaded(*words)


def measured(tree: Path) -> Iterator[tuple[str, str]]:
    """(what, figure) of one tree."""
    found = list(trees(tree))
    modules = [module for _, _, module in found]
    yield "files", f"{len(found):,}"
    yield "lines", f"{sum(len(text.splitlines()) for _, text, _ in found):,}"
    records = record_classes(modules)
    for kind in (*KINDS.values(), DATACLASS):
        yield f"classes: {kind}", str(records[kind])
    yield "string-keyed reads of the report", str(report_reads(modules))
    for recipe, text in RECIPES.items():
        yield f"files that name {recipe}", str(sum(text in source for _, source, _ in found))
    with tempfile.TemporaryDirectory() as folder:
        for command, (own, every) in Commands(tree, Path(folder)).table():
            yield f"modules loaded: {command}", f"{own} of ours, {every} in all"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--tree", type=Path, default=ROOT, help="the checkout (default: this one)")
    given = asked.parse_args()
    if not shutil.which("ssh-keygen"):
        asked.error("signing needs ssh-keygen")
    print("| | |\n|---|---|")
    for what, figure in measured(given.tree.resolve()):
        print(f"| {what} | {figure} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
