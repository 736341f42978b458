"""The judge: calibration, judged pairs, and the dialog that starts it."""
