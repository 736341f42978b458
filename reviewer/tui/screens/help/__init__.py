"""Help over any screen."""
