"""Importing files into a workspace, now or in the background; scoring stored traces again."""
