"""The names of a result's tables. A file of its own, for command lines list them before any run."""

TABLES = ("ranks", "nodes", "collectives", "dimensions", "links")
"""The tables of every result."""

RECORDED_TABLES = ("messages", "utilisation", "link_utilisation", "critical_path")
"""Those of a recorded run alone."""

ALL_TABLES = TABLES + RECORDED_TABLES
