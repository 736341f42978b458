"""The suite: what it holds, what bad agents do on it, how often its policy is wrong."""
