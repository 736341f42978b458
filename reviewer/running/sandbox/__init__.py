"""A sandbox for every child process: started with nothing of ours, ended with all it started.

`room` starts and ends a child, `protection` says what holds it. `keeper` runs in a process of its
own between us and the child: it knows the standard library only.
"""
