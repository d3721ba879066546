"""Named clusters: real machines as data, one YAML file each, every number with its source.

A cluster is a device, its link to the host, and the levels of its network, innermost first. Asked
for a number of ranks, it gives the parts of a scenario that fit it.

    from yantra.fabric import clusters

    machine = clusters.load("hgx-h100")
    parts = machine.scenario_parts(64)

The parts have the form of a scenario file, as this part of Yantra is below the scenario;
`yantra.scenario.cluster_parts("hgx-h100", 64)` gives them as fields of a `Scenario`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.late import late

if TYPE_CHECKING:
    from yantra.fabric.clusters.find import at_site, knows, load, names, path_of
    from yantra.fabric.clusters.types import Cluster, Level, Number, Shapes
else:
    __getattr__, __dir__ = late(
        __name__,
        {"find": "at_site knows load names path_of", "types": "Cluster Level Number Shapes"},
    )

__all__ = ["Cluster", "Level", "Number", "Shapes", "at_site", "knows", "load", "names", "path_of"]
