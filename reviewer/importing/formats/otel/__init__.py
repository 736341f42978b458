"""Spans of OpenTelemetry and its relatives as episodes.

Every format of spans has the same reader (`reader.SpanReader`): a first pass notes where the spans
of a file stand and which belong together, a second reads the spans of one episode at a time. A
format adds its envelope: where spans stand in a file, and what one looks like.
"""
