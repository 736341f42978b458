"""State that outlives a screen: background questions, live jobs, unsaved labels."""
