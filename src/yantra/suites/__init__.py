"""Benchmark suites: a few traces that stand for many, and clusters ranked by them."""
