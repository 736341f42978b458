"""Rows of Parquet files, as lines of JSON: such a file is read as one of lines, by whichever reader
takes such lines. pyarrow, which reads Parquet, comes with the extra `parquet` and is loaded for the
first such file."""

import datetime
import decimal
import importlib.util
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from reviewer.importing.pipeline.split import Unreadable

MAGIC = b"PAR1"
EXTRA = "pip install 'release-reviewer[parquet]' reads it"
_ROWS = 64
_MOST_COLUMNS = 2000
_MOST_FOOTER = 64 << 20


@cache
def can_be_read() -> bool:
    """Return whether pyarrow is installed."""
    return importlib.util.find_spec("pyarrow") is not None


def lines_in(path: Path) -> Iterator[bytes]:
    """Yield the rows of a file, one JSON object per line. Raises Unreadable, OSError."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(
            path,
            memory_map=False,
            thrift_string_size_limit=_MOST_FOOTER,
            thrift_container_size_limit=_MOST_FOOTER,
        ) as file:
            if len(file.schema_arrow.names) > _MOST_COLUMNS:
                raise Unreadable(f"a Parquet file of over {_MOST_COLUMNS:,} columns")
            for batch in file.iter_batches(batch_size=_ROWS):
                for row in batch.to_pylist():
                    yield _encode(_plain(row)) + b"\n"
    except (pyarrow.ArrowException, ValueError, OverflowError, UnicodeError) as error:
        raise Unreadable(f"a damaged Parquet file: {type(error).__name__}") from None


_encode = msgspec.json.Encoder().encode


def _plain(value: Any) -> Any:
    """Return a value in a form for JSON: times as text, NaN and infinity as null."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return float(value) if value.is_finite() else None
    return value if isinstance(value, (str, int, bool)) or value is None else str(value)
