"""From a user's paths to judged records in the store, shared by all formats."""
