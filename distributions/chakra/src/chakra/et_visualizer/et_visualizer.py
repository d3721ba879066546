"""`python3 -m chakra.et_visualizer.et_visualizer`: Yantra's `chakra_visualizer`. Until May 2024."""

import sys

from yantra.cli.chakra_package import stay_behind_upstream
from yantra.cli.upstream.visualizer import main

__all__ = ["main"]

stay_behind_upstream(__name__)

if __name__ == "__main__":
    sys.exit(main())
