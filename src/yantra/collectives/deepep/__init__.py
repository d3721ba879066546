"""Dispatch and combine of experts by the kernels of DeepEP: bytes, times, and the SMs they take.

`routing` says how many copies of a token go where, `law` how long that takes, `constants` has the
numbers that were fitted to measurements.
"""
