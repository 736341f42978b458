"""Running candidates: reset worlds, a broker that holds the authority, and the record of it all.

Nothing here knows the store: attempts go out as `Task`, and come back as the bytes of a trace
record, which are judged and kept by the same code that imports files.
"""
