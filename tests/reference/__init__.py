"""Random jobs on ASTRA-sim's own binaries and on Yantra: every tick must be the same."""
