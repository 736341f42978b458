"""A file that is opened is told as the store then has it, whether it was there before or not."""

from pathlib import Path

from reviewer.db.connection import close_writer, transaction
from reviewer.db.schema import open_writer
from reviewer.db.sources import open_source, source_row


def test_an_opened_file_is_what_the_store_has_of_it(tmp_path: Path) -> None:
    store = tmp_path / "review.db"
    connection = open_writer(store)
    values = {
        "sha256": "ab" * 32,
        "path": "some/file.json",
        "size": 12,
        "reader": "native/1",
        "suite": "",
        "candidate": "agent-a",
        "at": "2026-11-26T10:00:00Z",
    }
    try:
        for again in (False, True):
            with transaction(connection, store):
                opened = open_source(connection, {**values, "path": f"{again}"}, "ab" * 32)
            assert opened == source_row(connection, values["sha256"], "", "agent-a")
            assert (opened.path, opened.state, opened.records) == ("False", "reading", 0)
            assert connection.execute("SELECT count(*) FROM source").fetchone() == (1,)
        with transaction(connection, store):
            other = open_source(connection, {**values, "candidate": "agent-b"})
        assert other.id != opened.id
        assert other == source_row(connection, values["sha256"], "", "agent-b")
    finally:
        close_writer(connection, store)
