"""Stub."""
def sync_dependencies(events): return {}
