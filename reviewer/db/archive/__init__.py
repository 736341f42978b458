"""Archives: what a store holds as Parquet files, written and asked by DuckDB (extra: archive)."""
