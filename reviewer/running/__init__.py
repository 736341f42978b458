"""Runs of candidates: reset worlds, a broker that enforces authority, and the attempt's record.

This layer does not know the store: attempts go out as `Task`, and come back as the bytes of a trace
record, which are judged and stored by the same code that imports files.
"""
