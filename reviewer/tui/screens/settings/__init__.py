"""Settings and themes, as dialogs."""
