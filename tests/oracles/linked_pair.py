"""The traces of a random GPU program, linked, beside what the program really did."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NamedTuple

from tests.oracles import gpu_program
from tests.oracles.gpu_program import Options, Truth
from tests.oracles.small_traces import check_counts
from yantra.tracing.pytorch import host, kineto
from yantra.tracing.pytorch.link import link, link_alone
from yantra.tracing.pytorch.linked import Linked


class Pair(NamedTuple):
    linked: Linked
    truth: Truth
    alone: Linked

    def host_id(self, operator: int | None) -> int | None:
        ids = {op.id: op.host_id for op in self.linked.operators}
        return None if operator is None else ids[operator]

    def correlations(self) -> dict[int, int]:
        return {op.id: op.correlation for op in self.linked.device_ops}


@lru_cache(maxsize=64)
def linked(seed: int, operators: int, options: tuple[tuple[str, bool], ...] = ()) -> Pair:
    """Do not change what it returns. `options` are fields of `gpu_program.Options`."""
    program = gpu_program.run(seed, operators, Options(**dict(options)))
    traces = host.parse(json.dumps(program.host_json()).encode(), "host")
    text = json.dumps(program.device_json()).encode()
    alone = link_alone(kineto.parse(text, "device", shapes=True))
    pair = Pair(link(traces, kineto.parse(text, "device")), program.truth, alone)
    check_counts(pair.linked)
    check_counts(pair.alone)
    return pair
