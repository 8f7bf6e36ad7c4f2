"""`python -m tileas_xdsl`: the command `tileas`, where the folder of its script is not on the path."""

from __future__ import annotations

import sys

from tileas_xdsl.tools.main import main

if __name__ == "__main__":
    sys.exit(main())
