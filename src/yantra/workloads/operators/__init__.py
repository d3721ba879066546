"""Operators with placements, and the collectives and passes that follow from them."""
