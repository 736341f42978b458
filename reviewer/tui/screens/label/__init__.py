"""Labeling: pairs and messages."""
