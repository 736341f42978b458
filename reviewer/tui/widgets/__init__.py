"""Widgets and the lines they paint. They do not use the desk."""
