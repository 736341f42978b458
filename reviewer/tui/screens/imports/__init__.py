"""The import dialog, and what an import said."""
