"""`python -m yantra` is the command `yantra`."""

from yantra.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
