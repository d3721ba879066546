"""Laws of plug-ins that take a run to check: jobs are made, simulated and compared."""
