"""Two candidates of a suite, or two attempts of an episode, side by side."""
