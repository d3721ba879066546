"""Upstream's text converter, byte for byte: `convert_upstream`.

Its peculiarities: ids continue over passes and ranks, NONE is an all-reduce of 0 bytes in most
policies, update times are not used, both hybrid policies give one graph, nodes have no `is_cpu_op`.
Only used columns must be numbers; what makes it fail is refused with file and line. `num_dims`
writes each collective's dimensions (`involved_dim`), as upstream did until February 2024.

Source: facts of MLCommons Chakra's text converter; equal on every golden file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.chakra import files
from yantra.chakra.schema import AnyValue, Attribute, CollectiveType, Metadata, Node, NodeType
from yantra.chakra.trace import Trace
from yantra.workloads.importers.layer_text.convert import make_folder
from yantra.workloads.importers.layer_text.loops import SCHEMA
from yantra.workloads.importers.layer_text.workload import DLRM, POLICIES

_TYPES: Mapping[str, CollectiveType] = {
    "ALLTOALL": CollectiveType.ALL_TO_ALL,
    "ALLGATHER": CollectiveType.ALL_GATHER,
    "REDUCESCATTER": CollectiveType.REDUCE_SCATTER,
}
_HYBRID = ("HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA")
KEYWORDS = ("MICRO", "DATA", "MODEL", *_HYBRID, *DLRM)
_LEAST_DIMENSIONS = dict.fromkeys(_HYBRID, 2)  # one for each half of the parallelism


class _Phase(NamedTuple):
    time: int
    kind: str
    size: int


class _Layer(NamedTuple):
    name: str
    forward: _Phase
    input_gradient: _Phase
    weight_gradient: _Phase


class _Input(NamedTuple):
    where: str
    text: str
    policy: str
    announced: int
    bottom: int
    layers: list[_Layer]


def convert_upstream(
    source: Path, prefix: Path, num_npus: int, num_passes: int, num_dims: int | None = None
) -> tuple[str, ...]:
    """Write `prefix`.NPU.et as upstream does and return the names; raises ConfigError.

    With `num_dims` collectives have their dimensions, as in 2023.
    """
    given = _read(source)
    if num_dims is not None and num_dims < (least := _LEAST_DIMENSIONS.get(given.policy, 1)):
        raise ConfigError(
            "num_dims", expected_got(f"at least {least} for {given.policy}", num_dims)
        )
    about = Metadata("", (Attribute("schema", SCHEMA), Attribute("input_file", given.text)))
    writer = _Writer(given, num_dims)
    if num_npus > 0 and num_passes > 0:
        _check(given)
    make_folder(os.fspath(prefix))
    names = tuple(f"{os.fspath(prefix)}.{npu}.et" for npu in range(num_npus))
    for name in names:
        try:
            trace = Trace(writer.one_rank(num_passes), about)
        except ValueError as error:
            raise ConfigError(given.where, str(error)) from None
        files.save(trace.to_bytes(), name)
    return names


def _read(source: Path) -> _Input:
    where = str(source)
    text = read_text(source, keep_mark=True)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    policy, bottom = _first_line(lines, where)
    if len(lines) < 2:
        raise ConfigError(f"{where}:2", "the file ends; expected the number of layers")
    count = _whole(f"{where}:2", lines[1])
    layers = [_layer(line, f"{where}:{number}") for number, line in enumerate(lines[2:], start=3)]
    return _Input(where, text, policy, count, bottom, layers)


def _first_line(lines: list[str], where: str) -> tuple[str, int]:
    words = lines[0].split() if lines else []
    if not words:
        raise ConfigError(f"{where}:1", f"is empty; expected one of {', '.join(KEYWORDS)}")
    policy = words[0]
    if policy not in KEYWORDS:
        advice = did_you_mean(policy, KEYWORDS)
        if policy in POLICIES:
            advice = "; upstream's converter does not know it: convert without --compat upstream"
        problem = expected_got(f"one of {', '.join(KEYWORDS)}", policy)
        raise ConfigError(f"{where}:1", problem + advice)
    if policy not in DLRM:
        return policy, 0
    if len(words) < 2:
        raise ConfigError(f"{where}:1", f"expected the last bottom layer after {policy}")
    return policy, _whole(f"{where}:1", words[1])


def _layer(line: str, where: str) -> _Layer:
    words = line.split()
    if len(words) < 12:
        raise ConfigError(where, expected_got("a layer of at least 12 columns", len(words)))
    phases = [
        _Phase(
            _whole(f"{where}: column {at + 1}", words[at]),
            words[at + 1],
            _whole(f"{where}: column {at + 3}", words[at + 2]),
        )
        for at in (2, 5, 8)
    ]
    return _Layer(words[0], *phases)


def _whole(where: str, word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise ConfigError(where, expected_got("a whole number", word)) from None


def _check(given: _Input) -> None:
    layers = len(given.layers)
    if given.policy in DLRM and layers:
        bottom = given.bottom
        exchanged = given.layers[0].forward.kind == "ALLTOALL"
        if bottom == -1:
            raise ConfigError(given.where, "the last bottom layer is -1; expected at least 1")
        if bottom == 0 or (0 < bottom < layers and not exchanged):
            problem = f"layer {bottom} waits for layer 0's all-to-all, which is not there"
            advice = "layer 0 needs forward ALLTOALL, and the last bottom layer must be above 0"
            raise ConfigError(given.where, f"{problem}; {advice}")
    elif given.policy not in ("MICRO", "DATA") and 0 < given.announced < layers:
        problem = expected_got(f"{given.announced} layers, as line 2 says", layers)
        raise ConfigError(given.where, f"{problem}; correct line 2")


class _Writer:
    def __init__(self, given: _Input, num_dims: int | None) -> None:
        self.given = given
        self.num_dims = num_dims
        self.layers = given.layers
        self.next_id = 0
        self.nodes: list[Node] = []
        self.known: dict[tuple[str, int], int] = {}
        passes: Mapping[str, Callable[[], None]] = {
            "MICRO": self._micro,
            "DATA": self._data,
            "MODEL": self._hybrid,
            **dict.fromkeys(_HYBRID, self._hybrid),
            **dict.fromkeys(DLRM, self._dlrm),
        }
        self._pass = passes[given.policy]

    def one_rank(self, passes: int) -> list[Node]:
        self.nodes, self.known = [], {}
        for _ in range(passes):
            self._pass()
        return self.nodes

    def _micro(self) -> None:
        for i in range(len(self.layers)):
            self._comm("Wc", i)

    def _data(self) -> None:
        last = len(self.layers) - 1
        for i in range(last + 1):
            self._comp("F", i, ("F", i - 1), ("Wc", i))
        for i in range(last, -1, -1):
            self._comp("W", i, ("F", i) if i == last else ("I", i + 1))
            self._comm("Wc", i, ("W", i))
            if i:
                self._comp("I", i, ("W", i))

    def _hybrid(self) -> None:
        """MODEL and both hybrids: MODEL has no weight-gradient communication."""
        last = len(self.layers) - 1
        model = self.given.policy == "MODEL"
        infix = "_IG_COMM_" if self.given.policy == "HYBRID_DATA_MODEL" else ""
        for i in range(last + 1):
            before = [("Fc", i - 1), ("W", i)] if model else [("Wc", i), ("Fc", i - 1)]
            self._comp("F", i, *before)
            self._comm("Fc", i, ("F", i))
        for i in range(last, -1, -1):
            self._comp("I", i, *([("Fc", i)] if i == last else [("W", i + 1), ("Ic", i + 1)]))
            if last - i != self.given.announced - 1:
                self._comm("Ic", i, ("I", i), infix=infix)
            self._comp("W", i, ("I", i))
            if not model:
                self._comm("Wc", i, ("W", i))

    def _dlrm(self) -> None:
        last = len(self.layers) - 1
        bottom = self.given.bottom
        for i in range(last + 1):
            own = ("Wc", i) if ("Wc", i) in self.known else ("W", i)
            exchange = [("Fc", 0)] if i == bottom else []
            self._comp("F", i, own, ("F", i - 1), *exchange)
            if self.layers[i].forward.kind == "ALLTOALL":
                self._comm("Fc", i, ("F", i))
        for i in range(last, -1, -1):
            before = [("F", i)] if i == last else [("I", i + 1), ("Ic", i)]
            self._comp("W", i, *before)
            if self.layers[i].weight_gradient.kind != "NONE":
                self._comm("Wc", i, ("W", i))
            if i:
                self._comp("I", i, ("W", i))
            if i == bottom + 1:
                self._comm("Ic", 0, ("I", i))

    def _comp(self, kind: str, layer: int, *after: tuple[str, int]) -> None:
        described = self.layers[layer]
        phase, suffix = _phase(described, kind)
        name = f"COMP_NODE_{described.name}_{suffix}"
        if not 0 <= phase.time < 2**64:
            raise ValueError(f"{described.name}: the time {phase.time} is no unsigned number")
        self._add(kind, layer, name, NodeType.COMP, phase.time, {}, after)

    def _comm(self, kind: str, layer: int, *after: tuple[str, int], infix: str = "") -> None:
        described = self.layers[layer]
        phase, _ = _phase(described, kind)
        name = f"COMM_COLL_NODE_{described.name}{infix}_{phase.kind}"
        if not -(2**63) <= phase.size < 2**63:
            raise ValueError(f"{described.name}: the size {phase.size} is no 64-bit number")
        what = int(_TYPES.get(phase.kind, CollectiveType.ALL_REDUCE))
        attributes: dict[str, AnyValue] = {"comm_type": what, "comm_size": phase.size}
        if self.num_dims is not None:
            attributes["involved_dim"] = self._involved(kind, self.num_dims)
        self._add(kind, layer, name, NodeType.COMM_COLL, 0, attributes, after)

    def _involved(self, kind: str, num_dims: int) -> list[bool]:
        if self.given.policy not in _HYBRID:
            return [True] * num_dims
        for_data = kind == "Wc"
        first = for_data == (self.given.policy == "HYBRID_MODEL_DATA")
        return [first] + [not first] * (num_dims - 1)

    def _add(
        self,
        kind: str,
        layer: int,
        name: str,
        type: NodeType,
        micros: int,
        attributes: Mapping[str, AnyValue],
        after: tuple[tuple[str, int], ...],
    ) -> None:
        parents = [self.known[key] for key in after if key in self.known]
        self.nodes.append(
            Node(self.next_id, name, type, micros, data_deps=parents, attributes=attributes)
        )
        self.known[kind, layer] = self.next_id
        self.next_id += 1


def _phase(layer: _Layer, kind: str) -> tuple[_Phase, str]:
    if kind[0] == "F":
        return layer.forward, "FWD"
    if kind[0] == "I":
        return layer.input_gradient, "BWD_IG"
    return layer.weight_gradient, "BWD_WG"
