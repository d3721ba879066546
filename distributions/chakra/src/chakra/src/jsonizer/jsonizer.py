"""`python3 -m chakra.src.jsonizer.jsonizer`: Yantra's `chakra_jsonizer`."""

import sys

from yantra.cli.chakra_package import stay_behind_upstream
from yantra.cli.upstream.jsonizer import main

__all__ = ["main"]

stay_behind_upstream(__name__)

if __name__ == "__main__":
    sys.exit(main())
