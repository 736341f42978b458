"""Settings of the workstation: the file, the key map and the keys in force, themes."""
