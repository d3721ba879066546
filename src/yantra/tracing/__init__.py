"""Traces of real jobs: recorded, linked, looked at, obfuscated, replayed."""
