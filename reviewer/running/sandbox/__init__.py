"""A room of its own for every child process: started with nothing of ours, ended whole.

`room` starts and ends a child, `protection` says what holds it. `keeper`, `landlock` and `clearing`
run in a process of their own that stands between us and the child: they know the standard library
only.
"""
