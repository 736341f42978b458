"""Spans that running agents send (OTLP over HTTP), taken into the store as traces.

`wire` reads requests and writes answers, `door` is the server, `spool` keeps what was acknowledged
until it is imported, `open_traces` decides when a trace has come to its end, and `listener` puts
them together and imports.
"""
