"""Names of a result's tables, apart so that command lines list them before any run."""

from __future__ import annotations

from yantra.base.errors import ConfigError, did_you_mean

TABLES = ("ranks", "nodes", "collectives", "dimensions", "links")
"""The tables of every result."""

RECORDED_TABLES = (
    "messages",
    "utilisation",
    "link_utilisation",
    "link_rates",
    "link_flows",
    "critical_path",
)
"""Those of a recorded run alone."""

PACKET_TABLES = (
    "packet_ports",
    "packet_queues",
    "packet_rates",
    "packet_messages",
    "packet_slowdowns",
)
"""Those of a run over the packet network; empty on others."""

ALL_TABLES = TABLES + RECORDED_TABLES + PACKET_TABLES


def check_table_name(name: str) -> None:
    if name not in ALL_TABLES:
        hint = did_you_mean(name, ALL_TABLES)
        raise ConfigError("table", f"no table is named '{name}'{hint}")
