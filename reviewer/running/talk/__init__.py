"""The user's side of an attempt: who answers the agent, and what such a user does wrong.

`model` has the values, `scripted`, `endpoint` and `person` are users, `faults` finds a user's
errors by rule, and `talk` holds the conversation of one attempt together.
"""
