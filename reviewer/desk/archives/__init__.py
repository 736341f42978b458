"""Archives: a store as Parquet files that other tools read too, and questions in SQL."""
