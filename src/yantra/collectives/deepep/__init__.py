"""Dispatch and combine of experts by DeepEP's kernels: bytes (`routing`), times (`law`), fitted
numbers (`constants`).
"""
