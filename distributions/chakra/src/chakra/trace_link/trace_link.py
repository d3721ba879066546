"""`python3 -m chakra.trace_link.trace_link`: Yantra's `chakra_trace_link`. Until May 2024."""

import sys

from yantra.cli.chakra_package import stay_behind_upstream
from yantra.cli.upstream.trace_link import main

__all__ = ["main"]

stay_behind_upstream(__name__)

if __name__ == "__main__":
    sys.exit(main())
