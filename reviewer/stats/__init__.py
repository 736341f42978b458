"""Floor 2: statistics as pure functions. `reviewer.api.stats` names the public ones."""
