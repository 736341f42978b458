"""People and judges: what they are shown, what they said, and how far they agree.

What stands here is pure: messages and labels in, values out. The store, the clock, the network and
the screens are the business of whoever calls.
"""
