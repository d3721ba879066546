"""Traces of real jobs: recorded, linked, inspected, obfuscated, replayed."""
