"""Spans of OpenTelemetry and its relatives as episodes.

Every format of spans has the same reader (`reader.SpanReader`): a first pass notes the places of a
file's spans and which spans belong together, a second reads the spans of one episode at a time. A
format adds its envelope: where spans are in a file, and what one looks like.
"""
