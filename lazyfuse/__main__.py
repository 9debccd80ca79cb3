"""`python -m lazyfuse program.py`: run a program as it is, with lazyfuse for NumPy."""

from __future__ import annotations

import sys

from lazyfuse.integrations import unchanged

_USAGE = """\
usage: python -m lazyfuse program.py [arguments]
       python -m lazyfuse -m module [arguments]
       python -m lazyfuse -c text [arguments]

Runs a Python program as it is; where its own modules import NumPy, they get lazyfuse. Libraries
keep NumPy. LAZYFUSE_REPORT=1 prints in the end what ran, and what was left to NumPy."""


def main(arguments: list[str]) -> None:
    """Raises: what the program does; SystemExit."""
    if not arguments or arguments[0] in ("-m", "-c") and len(arguments) == 1:
        sys.exit(_USAGE)
    if arguments[0] in ("-h", "--help"):
        print(_USAGE)
        return
    unchanged.install()
    unchanged.run(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
