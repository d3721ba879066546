"""One order for all ranks: it follows the data, and ends the deadlocks of upstream's graphs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.chakra import NodeType, Trace
from yantra.errors import DeadlockError
from yantra.scenario import Collectives, Device, Dimension, Network, Scenario, Topology, Traces
from yantra.simulate import run_native
from yantra.workloads.importers.stg import Settings, from_stg
from yantra.workloads.template import Workload
