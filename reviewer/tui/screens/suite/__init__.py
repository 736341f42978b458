"""The suite: its contents, how bad agents do on it, how often its policy is wrong."""
