"""DeepEval's own database (`DEEPEVAL_LOCAL_STORE=sqlite`): one test run per row, as in its JSON
files."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from reviewer.db.foreign import ForeignDatabase
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import objects, sequence, text
from reviewer.importing.formats.databases import DatabaseReader, Needs, value_in
from reviewer.importing.formats.deepeval import CASES, DeepEvalReader, about, attempt
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source


class DeepEvalDatabaseReader(DatabaseReader):
    name = "deepeval-db"
    tool = "deepeval"
    facts: FormatFacts = DeepEvalReader.facts._replace(
        by="a SQLite database with the table `test_runs`, with `payload_json`",
        beside="its `-wal` and `-journal`",
    )
    needs: ClassVar[Needs] = {"test_runs": ("id", "payload_json")}

    def attempts(self, source: Source, held: ForeignDatabase) -> Iterator[Foreign | Broken]:
        for own, data in held.rows("test_runs", ("id", "payload_json"), ("id",)):
            run, place = value_in(source, data), f"test run {own}"
            if not isinstance(run, dict):
                yield Broken(("type:payload_json",), place)
                continue
            cases = (one for kind in CASES for one in objects(run.get(kind)))
            found = about(run, (text(one.get("name")) for one in cases))
            for kind in CASES:
                if run.get(kind) is not None and not isinstance(run[kind], list):
                    yield Broken((f"type:{kind}",), place)
                for number, case in enumerate(sequence(run.get(kind)), 1):
                    make = partial(attempt, source, case, kind, found, self.name)
                    yield source.attempt(make, f"{place}, {kind} {number}")
