"""Flows of `yantra network flows`: a file's, or a workload's."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.fabric.graphs.graph import Graph
    from yantra.network.traffic.generator import Flows

_DURATION = "10 ms"
_OPTIONS = {
    "--workload": (
        "SIZES",
        "In place of FLOWS: Poisson arrivals of these sizes (websearch, hadoop, alistorage, or a "
        "file of bytes,percent).",
    ),
    "--load": (
        "SHARE",
        "With --workload: bytes that hosts send over the rate of their links.",
    ),
    "--duration": (
        "TIME",
        f"With --workload: the time in which flows start. By default {_DURATION}.",
    ),
}


class Source(NamedTuple):
    """A list's path, or a workload's parts."""

    path: str | None
    workload: str | None
    load: str | None
    duration: str | None

    @property
    def name(self) -> str:
        return self.path or self.workload or ""

    def flows(self, seed: int, graph: Graph) -> Flows:
        from yantra.base.errors import ConfigError
        from yantra.run.flows import read

        if self.workload is not None:
            return self._made(seed, graph)
        for name, given in {"--load": self.load, "--duration": self.duration}.items():
            if given is not None:
                raise ConfigError(name, "goes with --workload")
        if self.path is None:
            raise ConfigError("FLOWS", "missing; give a list of flows, or --workload and --load")
        return read(self.path)

    def _made(self, seed: int, graph: Graph) -> Flows:
        from yantra.base.errors import ConfigError
        from yantra.network.traffic import generate
        from yantra.scenario.settings import parsed

        if self.path is not None:
            problem = f"takes the place of a list; got the list {self.path}, too"
            raise ConfigError("--workload", problem)
        if self.load is None:
            raise ConfigError("--load", "missing; expected a number up to 1, such as 0.5")
        options = {
            "sizes": self.workload,
            **parsed((f"load={self.load}",)),
            "duration": self.duration or _DURATION,
            "bandwidth": f"{_host_bytes_per_ns(graph)!r} GB/s",
        }
        try:
            return generate("poisson", options, graph.ranks, seed, "--workload")
        except ConfigError as error:
            place = error.where.removeprefix("--workload.")
            known = {"sizes": "--workload", "load": "--load", "duration": "--duration"}
            raise ConfigError(known.get(place, error.where), error.problem) from None


def flows_or_workload(command: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(command)
    def with_source(
        *,
        flows: str | None,
        workload: str | None,
        load: str | None,
        duration: str | None,
        **others: Any,
    ) -> Any:
        return command(flows=Source(flows, workload, load, duration), **others)

    made: Callable[..., Any] = with_source
    for name, (value, text) in reversed(_OPTIONS.items()):
        made = click.option(name, metavar=value, help=text)(made)
    return click.argument("flows", metavar="[FLOWS]", type=click.Path(), required=False)(made)


def _host_bytes_per_ns(graph: Graph) -> float:
    import numpy as np

    links = graph.links
    of_hosts = links.start < graph.ranks
    rates = np.bincount(
        links.start[of_hosts], weights=links.bytes_per_ns[of_hosts], minlength=graph.ranks
    )
    return float(rates.min())
