"""Runs models: whole or folded, once or often, and why a run cannot end."""
