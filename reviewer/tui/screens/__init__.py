"""One folder per screen. Each is imported the first time somebody goes there."""
