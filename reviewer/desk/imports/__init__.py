"""Import files into a workspace, in the foreground or the background; score stored traces again."""
