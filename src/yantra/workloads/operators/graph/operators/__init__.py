"""Operators blocks are made of, one kind a file: placements needed and given, cost, gradient."""
