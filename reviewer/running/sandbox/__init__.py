"""A sandbox for every child process: it starts without reviewer's environment and descriptors, and
ends with everything it started.

`room` starts and ends a child, `protection` decides how it is isolated. `keeper` runs in a process
of its own between reviewer and the child: it uses the standard library only.
"""
