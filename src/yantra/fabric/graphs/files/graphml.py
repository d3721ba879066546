"""GraphML of NetworkX, yEd and others.

A node's `rank` makes it that rank, `kind: nic` a card, `box` its box, else a switch, with a
`buffer`. Without any `rank`, ids 0, 1, 2 ... are ranks. An edge has `bandwidth` and `latency` with
units, or `bytes_per_ns` and `latency_ns`; `label`; `weight`. Undirected edges are both ways; other
data is ignored.

Document types are refused, as entities can expand.

Source: GraphML Primer, graphml.graphdrawing.org.
"""

from __future__ import annotations

from typing import NamedTuple
from xml.parsers import expat

from yantra.base.errors import ConfigError, did_you_mean, expected_got, show
from yantra.fabric.graphs.builder import BANDWIDTH, LATENCY
from yantra.fabric.graphs.files.gathering import Gathering, Traits, weight_of
from yantra.fabric.graphs.graph import DeviceKind, Graph

_KINDS = {"rank": DeviceKind.RANK, "switch": DeviceKind.SWITCH, "nic": DeviceKind.NIC}
_LONGEST_NUMBER = 9


class _Edge(NamedTuple):
    source: str
    target: str
    is_directed: bool
    line: int


class _Reader:
    def __init__(self, name: str) -> None:
        self.name = name
        self.gathering = Gathering(name, finds_boxes=True)
        self._parser = expat.ParserCreate("utf-8", " ")  # whatever the file declares
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._keys: dict[str, str] = {}
        self._defaults: dict[tuple[str, str], str] = {}
        self._key = self._domain = ""
        self._data: dict[str, str] | None = None
        self._collected: list[str] | None = None
        self._node: str | None = None
        self._edge: _Edge | None = None
        self._graphs = 0
        self._is_directed = False

    def parse(self, text: str) -> Graph:
        try:
            self._parser.Parse(text.encode("utf-8", "surrogatepass"), True)
        except expat.ExpatError as error:
            problem = f"not XML: {expat.ErrorString(error.code)}"
            raise ConfigError(f"{self.name}, line {error.lineno}", problem) from None
        if not self._graphs:
            raise self._wrong("no GraphML: it has no <graph>")
        return self.gathering.graph()

    def _wrong(self, problem: str, line: int | None = None, field: str = "") -> ConfigError:
        place = self._parser.CurrentLineNumber if line is None else line
        return ConfigError(f"{self.name}, line {place}{field and f', {field}'}", problem)

    def _doctype(self, *_: object) -> None:
        problem = "has a document type, which GraphML does not need; remove the line <!DOCTYPE"
        raise self._wrong(problem)

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        element = tag.rpartition(" ")[2]
        if element == "graph":
            self._graphs += 1
            if self._graphs > 1:
                raise self._wrong("expected one <graph>, got another")
            self._is_directed = attributes.get("edgedefault") == "directed"
        elif element == "key":
            self._key = self._needed(attributes, "id", element)
            self._domain = attributes.get("for", "all")
            self._keys[self._key] = attributes.get("attr.name", self._key)
        elif element == "node":
            self._node = self._needed(attributes, "id", element)
            self._data = {}
        elif element == "edge":
            said = attributes.get("directed")
            is_directed = self._is_directed if said is None else said == "true"
            source, target = (
                self._needed(attributes, end, element) for end in ("source", "target")
            )
            self._edge = _Edge(source, target, is_directed, self._parser.CurrentLineNumber)
            self._data = {}
        elif element == "hyperedge":
            raise self._wrong("has a <hyperedge>; expected edges between two nodes")
        elif element == "data":
            self._key = self._needed(attributes, "key", element)
            self._collected = []
        elif element == "default":
            self._collected = []

    def _needed(self, attributes: dict[str, str], name: str, element: str) -> str:
        if name not in attributes:
            raise self._wrong(f"a <{element}> has no {name}")
        return attributes[name]

    def _text(self, text: str) -> None:
        if self._collected is not None:
            self._collected.append(text)

    def _end(self, tag: str) -> None:
        element = tag.rpartition(" ")[2]
        said = "".join(self._collected or ()).strip()
        if element == "data":
            if self._data is not None:
                self._data[self._keys.get(self._key, self._key)] = said
            self._collected = None
        elif element == "default":
            self._defaults[self._domain, self._keys.get(self._key, self._key)] = said
            self._collected = None
        elif element == "node" and self._node is not None:
            self._add_node(self._node, self._with_defaults("node"))
            self._node = self._data = None
        elif element == "edge" and self._edge is not None:
            self._add_edge(self._edge, self._with_defaults("edge"))
            self._edge = self._data = None

    def _with_defaults(self, domain: str) -> dict[str, str]:
        defaults = {
            name: value for (of, name), value in self._defaults.items() if of in (domain, "all")
        }
        return defaults | (self._data or {})

    def _add_node(self, name: str, data: dict[str, str]) -> None:
        kind = data.get("kind", "switch" if "rank" not in data else "rank").lower()
        if kind not in _KINDS:
            raise self._wrong(expected_got(f"one of {', '.join(_KINDS)}", kind), None, "kind")
        device = self.gathering.device(name, _KINDS[kind])
        if "rank" in data:
            number = data["rank"].removesuffix(".0")
            if not (number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER):
                raise self._wrong(expected_got("a whole number", data["rank"]), None, "rank")
            where = f"{self.name}, line {self._parser.CurrentLineNumber}, rank"
            self.gathering.rank(device, int(number), where)
        elif kind == "rank":
            raise self._wrong(f"node {show(name)} is a rank without a number", None, "rank")
        if data.get("box"):
            self.gathering.box(device, data["box"])
        if data.get("buffer"):
            line = self._parser.CurrentLineNumber
            self.gathering.buffer(device, data["buffer"], f"{self.name}, line {line}, buffer")

    def _add_edge(self, edge: _Edge, data: dict[str, str]) -> None:
        where = f"{self.name}, line {edge.line}"
        rate = self._speed(data, "bandwidth", "bytes_per_ns", edge.line)
        latency = self._speed(data, "latency", "latency_ns", edge.line)
        start, end = self.gathering.device(edge.source), self.gathering.device(edge.target)
        weight = weight_of(data.get("weight") or "1", f"{where}, weight")
        traits = Traits(rate, latency, data.get("label", ""), weight)
        self.gathering.link(start, end, traits, where, both_ways=not edge.is_directed)

    def _speed(self, data: dict[str, str], name: str, number: str, line: int) -> float:
        where = f"{self.name}, line {line}, {name if name in data else number}"
        field = BANDWIDTH if name == "bandwidth" else LATENCY
        value: float
        if name in data:
            value = field.read(data[name], where, "")
            return value
        if number not in data:
            problem = f"the edge has none; expected data {name} with a unit, or {number}"
            hint = did_you_mean(name, [key for key in data if key not in ("label",)])
            raise self._wrong(problem + hint, line, name)
        try:
            value = float(data[number])
        except ValueError:
            raise ConfigError(where, expected_got("a number", data[number])) from None
        field.check(value, where)
        return value


def parse(text: str, name: str) -> Graph:
    return _Reader(name).parse(text)
