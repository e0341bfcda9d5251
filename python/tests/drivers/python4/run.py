"""Asks a server with the driver of TinkerPop 4 for Python, which lies in `lib`: run.py ADDRESS QUERIES."""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "lib"))
# The program is that of TinkerPop 3.
runpy.run_path(str(HERE.parent.parent / "python" / "run.py"), run_name="__main__")
