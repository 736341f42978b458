"""Episodes made from recorded attempts, and the proof that they fail and pass as their marks
say."""
