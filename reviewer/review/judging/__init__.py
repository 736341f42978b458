"""Judges: what a model is asked about final messages, how its reply is read, and asking it.

`ask` alone reaches the network; all else is values in, values out. What a judge says counts for
nothing but its own calibration: no gate, verdict or recommendation reads it.
"""
