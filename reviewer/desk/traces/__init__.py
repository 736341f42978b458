"""One trace at a time: its events, states, notes, verdict, and search across traces."""
