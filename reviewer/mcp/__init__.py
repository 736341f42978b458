"""Answers for coding agents, over the Model Context Protocol: read-only, and all text in them data.

`answers` has the questions and what the desk says to them, `server` speaks the protocol (extra:
mcp). No question changes anything: nothing can be labeled, signed, run, imported or edited here.
"""
