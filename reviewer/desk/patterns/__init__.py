"""Failing attempts grouped by what decided them and the step at which they broke."""
