"""Benchmarks, each beside its goal: `python -m benchmarks` or `make bench`."""
