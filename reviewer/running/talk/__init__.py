"""The user's side of an attempt: who answers the agent, and the errors of such a user.

`model` has the values, `scripted`, `endpoint` and `person` are users, `faults` finds a user's
errors by rule, and `talk` manages the conversation of one attempt.
"""
