"""State that outlives a screen: background questions, live jobs, half-made labels."""
