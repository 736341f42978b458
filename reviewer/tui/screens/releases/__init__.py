"""Every candidate of every suite."""
