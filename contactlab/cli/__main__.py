"""``python -m contactlab.cli``: the command line if the script `contactlab` is not on the path."""

from __future__ import annotations

import sys

from contactlab.cli import main

if __name__ == "__main__":
    sys.exit(main())
