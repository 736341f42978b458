"""`python -m reviewer`."""

import sys

from reviewer.cli.main import program

if __name__ == "__main__":
    sys.exit(program())
