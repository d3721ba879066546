"""Upstream Chakra's linker and converter, defects included, for comparison."""
