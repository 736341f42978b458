"""People and judges: the questions they are shown, their answers, and how far they agree.
Everything except the calls to a judge is pure: messages and labels in, values out. The store, the
clock and the screens belong to the callers."""
