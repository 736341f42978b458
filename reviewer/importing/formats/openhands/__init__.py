"""OpenHands: evaluation outputs, resolver outputs and bare event streams."""
