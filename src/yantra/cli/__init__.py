"""Command line of Yantra: one file per command, no logic."""
