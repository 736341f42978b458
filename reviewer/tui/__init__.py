"""The workstation: a Textual door on the desk. Screens show what the desk answers, nothing else.

Importing this package costs nothing; `app` imports Textual.
"""
