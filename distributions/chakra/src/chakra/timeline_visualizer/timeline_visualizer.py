"""`python3 -m` this module: Yantra's `chakra_timeline_visualizer`. Until May 2024."""

import sys

from yantra.cli.chakra_package import stay_behind_upstream
from yantra.cli.upstream.timeline_visualizer import main

__all__ = ["main"]

stay_behind_upstream(__name__)

if __name__ == "__main__":
    sys.exit(main())
