"""The label queue and the agreement of its reviewers."""
