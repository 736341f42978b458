"""Widgets and the lines they paint. They know no desk."""
