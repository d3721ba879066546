"""Where RCCL's tuner differs from NCCL's: constants of each AMD GPU, ratios of bandwidth, and a
second choice of protocol by a rank's bytes.

Trade-off: Ring and Tree alone; no direct all-gather, MSCCL, MSCCL++. Source: RCCL (commit 9e22c79),
src/graph/tuning.cc, `ncclTopoTuneModel` and `ncclTopoGetAlgoTime`; src/rccl_wrap.cc,
`rcclUpdateCollectiveProtocol`.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.collectives.nccl.constants import PROTOCOLS, Algorithm, AnyGpu, Protocol, Triple

Factors = tuple[float, ...]

BASE: dict[Algorithm, Triple] = {"Tree": (12.0, 12.0, 17.0), "Ring": (12.0, 12.0, 17.0)}
PCI: dict[Algorithm, Triple] = {"Tree": (2.2, 2.2, 5.7), "Ring": (2.2, 2.2, 5.7)}
"""Microseconds of LL, LL128 and Simple; the same for all GPUs."""

BROADCAST_LL = 1.65
"""Factor on the bandwidth of Ring LL of a broadcast or reduce in a node of MI300 or MI350."""

MORE_LL128 = 3.8
"""Factor on the range of LL128 in all-reduces of more than two nodes."""


class Model(NamedTuple):
    """Constants of a GPU by algorithm; triples are LL, LL128 and Simple.

    `few`, `many`: ratios of bandwidth on up to two nodes and more; `tree`, `ring`: factors for each
    power of two from 64 B on; `over_nodes`: by kind a rank's bytes above and up to which LL and
    LL128 run; `in_node`: up to which LL does.
    """

    xgmi: dict[Algorithm, Triple]
    network: dict[Algorithm, Triple]
    few: dict[Algorithm, Triple]
    many: dict[Algorithm, Triple]
    tree: tuple[Factors, Factors, Factors]
    ring: tuple[Factors, Factors, Factors]
    over_nodes: dict[str, tuple[tuple[int, int], tuple[int, int]]]
    in_node: dict[str, int]
    is_newer: bool = True


def _factors(text: str) -> Factors:
    return tuple(float(one) for one in text.split())


_MI200 = Model(
    xgmi={"Tree": (0.8, 1.4, 2.5), "Ring": (0.8, 2.2, 3.6)},
    network={"Tree": (11.8, 18.2, 20.8), "Ring": (9.5, 19.8, 15.1)},
    few={"Tree": (0.04, 0.22, 0.91), "Ring": (0.04, 0.34, 1.0)},
    many={"Tree": (0.04, 0.22, 0.95), "Ring": (0.04, 0.34, 1.0)},
    tree=(
        _factors(".1 .2 .1 .1 .9 .3 .4 .1 .2 .4 .2 .1 .3 .3 .2 .2 .2" + " .1" * 10),
        _factors(".1 .3 1 .1 .5 1 .9 1 1 1 .3 .1 .4 .5 .5 .4 .4 .3 .3" + " .2" * 8),
        _factors(".2 1 .1 .1 .7 .2 .4 .1 .1 .3 .4 .3 .6 .8 1 1 1 1 .9 .8 .8 .8 .8 .8 .9 .9 .9"),
    ),
    ring=(
        _factors(".1 .1 .1 .1 .1 .2 .4 .2 .3 .5 .3 .1 .5 .5 .3 .2 .2" + " .1" * 10),
        _factors(".1 .1 .1 .1 .1 .1 .1 .1 .1 .3 1 1 1 1 1 1 .8 .7 .5 .4 .4 .3 .3 .3 .3 .3 .3"),
        _factors("1 .8 .2 1 1 .3 1 .1 .1 .2 .2 .1 .5 1 .8 .8 1 .9" + " 1" * 9),
    ),
    over_nodes={},
    in_node={},
    is_newer=False,
)

_MI300 = Model(
    xgmi={"Tree": (0.9, 0.9, 2.3), "Ring": (0.8, 0.8, 2.1)},
    network={"Tree": (10.5, 10.5, 25.0), "Ring": (9.5, 9.5, 320.0)},
    few={"Tree": (0.06, 0.06, 0.11), "Ring": (0.08, 0.08, 1.0)},
    many={"Tree": (0.06, 0.06, 0.59), "Ring": (0.08, 0.08, 1.0)},
    tree=(
        _factors(".1 .1 .1 .1 .1 .1 1 1 1 1 1 .6 1 .9 1 1" + " .1" * 11),
        _factors(".1 .1 .1 .1 .1 .1 1 1 1 1 1 .6 1 .9 1 1" + " .1" * 11),
        _factors(".1 " * 15 + ".7 1 1 1 1 1 .7 .7 .5 .6 .6 .6"),
    ),
    ring=(
        _factors(".1 " * 11 + "1 .2 1 .4 .4 .1 .2 .2" + " .1" * 8),
        _factors(".1 " * 11 + "1 .2 1 .4 .4 .1 .2 .2" + " .1" * 8),
        _factors(".1 " * 22 + "1 .8 1 1 1"),
    ),
    over_nodes={
        "reduce_scatter": ((0, 655_360), (131_072, 3_211_264)),
        "all_gather": ((0, 98_304), (98_304, 5_046_272)),
        "all_reduce": ((0, 1_048_576), (1_048_576, 9_437_184)),
    },
    in_node={"reduce_scatter": 352_128},
)

_MI350 = _MI300._replace(
    tree=(
        _MI300.tree[0],
        _factors(".1 .1 .1 .1 .1 .1 1 1 1 1 1 .6 1 .9 1 1 1 1 1 2" + " .1" * 7),
        _factors(".1 " * 15 + ".7 1 .1 .1 .1 .9 .9 .7 .8 .6 .6 .6"),
    ),
    ring=(
        _MI300.ring[0],
        _factors(".1 " * 11 + "1 .2 1 .4 .4 .1 .2" + " .1" * 9),
        _factors(".1 " * 22 + "1 .8 .8 1 1"),
    ),
    over_nodes={
        "reduce_scatter": ((0, 131_071), (131_071, 4_194_304)),
        "all_gather": ((0, 7), (7, 8_388_608)),
        "all_reduce": ((0, 131_071), (131_071, 17_660_227)),
        "reduce": ((0, 16_383), (16_383, 16_777_216)),
        "broadcast": ((0, 2_048), (2_048, 16_777_216)),
    },
    in_node={"all_gather": 88_448, "reduce_scatter": 1_048_576},
)

MODELS: dict[AnyGpu, Model] = {"mi200": _MI200, "mi300": _MI300, "mi350": _MI350}


def ratio(gpu: AnyGpu, nodes: int, kind: str, algorithm: Algorithm, protocol: Protocol) -> float:
    model = MODELS[gpu]
    if algorithm not in model.few:
        return 0.0
    in_node = model.is_newer and nodes == 1
    if in_node and (algorithm, protocol) == ("Tree", "Simple"):
        return 0.0
    more = BROADCAST_LL if in_node and kind in ("broadcast", "reduce") else 1.0
    ratios = (model.few if nodes <= 2 else model.many)[algorithm]
    return ratios[PROTOCOLS.index(protocol)] * (more if protocol == "LL" else 1.0)


def correction(
    gpu: AnyGpu, nodes: int, algorithm: Algorithm, protocol: Protocol, size_bytes: int
) -> float:
    if algorithm == "Ring" and nodes == 1:
        return 1.0
    model = MODELS[gpu]
    by_size = (model.tree if algorithm == "Tree" else model.ring)[PROTOCOLS.index(protocol)]
    step = max(0, (size_bytes >> 6).bit_length() - 1)
    return by_size[min(step, len(by_size) - 1)]


def edges(gpu: AnyGpu, nodes: int, ranks: int, kind: str) -> list[int]:
    model = MODELS[gpu]
    sizes = [64 << step for step in range(1, len(model.tree[0]))]
    of_rank = _counted(kind, ranks)
    for range_ in _ranges(model, nodes, kind, ll128=True):
        sizes += [(most + 1) * of_rank for most in range_]
    return sorted(size for size in sizes if size)


def protocol_of(
    gpu: AnyGpu, nodes: int, ranks: int, kind: str, size_bytes: int, *, ll128: bool
) -> Protocol | None:
    model = MODELS[gpu]
    if kind not in (model.in_node if nodes == 1 else model.over_nodes):
        return None
    mine = size_bytes // _counted(kind, ranks)
    found: Protocol | None = "Simple" if nodes > 1 else None
    names: tuple[Protocol, ...] = ("LL", "LL128")
    for name, (least, most) in zip(names, _ranges(model, nodes, kind, ll128), strict=False):
        if least < mine <= most:
            found = name
    return found


def _ranges(model: Model, nodes: int, kind: str, ll128: bool) -> list[tuple[int, int]]:
    if nodes == 1:
        return [(-1, model.in_node[kind])] if kind in model.in_node else []
    if kind not in model.over_nodes:
        return []
    ll, (least, most) = model.over_nodes[kind]
    if kind == "all_reduce" and nodes > 2:
        most = int(most * MORE_LL128)
    return [ll, (least, most)] if ll128 else [ll]


def _counted(kind: str, ranks: int) -> int:
    return 1 if kind == "all_reduce" else ranks
