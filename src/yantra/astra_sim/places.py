"""Errors about a scenario that came from ASTRA-sim's files, at the keys of these files.

Later checks know only fields of a scenario. Trade-off: one table, written by hand, maps them to
files and keys; other fields keep their name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from yantra.base.errors import ConfigError

_KEYS = (
    (r"cluster\.topology\[(\d+)\]\.size", "network", '"npus_count[{}]"'),
    (r"cluster\.topology\[(\d+)\]\.kind", "network", '"topology[{}]"'),
    (r"cluster\.topology\[(\d+)\]\.(\w+)", "network", '"{1}[{0}]"'),
    (r"cluster\.topology.*", "network", '"npus_count"'),
    (r"cluster\.fabric.*", "network", ""),
    (r"network.*", "network", ""),
    (r"cluster\.device\.peak", "system", '"peak-perf"'),
    (r"cluster\.device\.memory_bandwidth", "system", '"local-mem-bw"'),
    (r"cluster\.device.*", "system", ""),
    (r"cluster\.memory\.latency", "memory", '"remote-mem-latency"'),
    (r"cluster\.memory\.bandwidth", "memory", '"remote-mem-bw"'),
    (r"cluster\.memory\.kind", "memory", '"memory-type"'),
    (r"cluster\.memory\.ranks_per_node", "memory", '"num-npus-per-node"'),
    (r"cluster\.memory.*", "memory", ""),
    (r"collectives\.chunks", "system", '"preferred-dataset-splits"'),
    (r"collectives\.active_chunks", "system", '"active-chunks-per-dimension"'),
    (r"collectives\.endpoint_delay", "system", '"endpoint-delay"'),
    (r"collectives\.local_reduction_delay", "system", '"local-reduction-delay"'),
    (r"collectives\.shared_bus\.big_g", "system", '"G"'),
    (r"collectives\.shared_bus\.l", "system", '"L"'),
    (r"collectives\.shared_bus\.(\w)", "system", '"{}"'),
    (r"collectives\.all_reduce.*", "system", '"all-reduce-implementation"'),
    (r"collectives\.all_gather.*", "system", '"all-gather-implementation"'),
    (r"collectives\.reduce_scatter.*", "system", '"reduce-scatter-implementation"'),
    (r"collectives\.all_to_all.*", "system", '"all-to-all-implementation"'),
    (r"collectives.*", "system", ""),
)


def in_files(error: ConfigError, files: Mapping[str, str]) -> ConfigError:
    """An error that names the file and its key; `files` are by kind, as in `_KEYS`."""
    place = _place(error.where, files)
    return error if place is None else type(error)(place, error.problem)


def _place(where: str, files: Mapping[str, str]) -> str | None:
    for pattern, kind, key in _KEYS:
        found = re.fullmatch(pattern, where)
        if found is not None:
            return f"{files[kind]}: {key.format(*found.groups())}".removesuffix(": ")
    return None
