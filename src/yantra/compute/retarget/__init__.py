"""Recorded kernels on another GPU: laws of both, and how much of a kernel's own ratio carries."""
