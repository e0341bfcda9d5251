"""The `mangrove` command: the same program as the one Rust builds, run from the Python package."""

import os
import signal
import sys

from . import _mangrove


def main() -> None:
    """Runs the command with the arguments of this process, and ends it with the command's exit code."""
    # The command handles Ctrl-C itself; Python's own handler would add a traceback to its message.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Commands that start others of their kind need the program that runs them.
    os.environ["MANGROVE_PYTHON"] = sys.executable
    sys.exit(_mangrove.run_command(sys.argv))


if __name__ == "__main__":
    main()
