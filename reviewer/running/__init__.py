"""Runs of candidates: reset worlds, a broker that holds the authority, and the attempt's record.

Nothing here knows the store: attempts go out as `Task`, and come back as the bytes of a trace
record, which are judged and kept by the same code that imports files.
"""
