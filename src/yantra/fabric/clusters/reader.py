"""Reads the file of a cluster: strict keys, a unit on every quantity, a source at every number.

    name: {value: 8, source: "[datasheet] page 2", basis: published}

`[key]` in a source stands for an entry of the table `sources`. Errors name the file and the key.
"""

from __future__ import annotations

import re
from os import path as paths
from typing import Any, get_args

from yantra import compute as computes
from yantra.base import trust, units
from yantra.base.errors import ConfigError, did_you_mean, expected_got, hint, show
from yantra.base.plugin_files import split_path
from yantra.collectives import find as find_algorithm
from yantra.fabric import topologies
from yantra.fabric.clusters.sites import of_file
from yantra.fabric.clusters.types import DTYPES, Basis, Cluster, Level, Number, Shapes

_COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
_COLLECTIVES_KEYS = ("chunks", "inter_dimension", "fits", "fitted_to", "measured")
_ORDERS = ("ascending", "round_robin", "themis")
_STATED: dict[str, tuple[units.Kind, str]] = {
    "context": ("size", "B"),
    "power": ("power", "W"),
    "idle_power": ("power", "W"),
    "power_cap": ("power", "W"),
    "price": ("price", "USD/h"),
    "capital": ("money", "USD"),
    "mtbf": ("time", "s"),
}
_HOURLY = ("running", "network", "storage")
_OWNERSHIP = ("years", "utilisation", "pue", "electricity", "grid", *_HOURLY)
_LAYOUTS = ("transposed", "any")
_TOP = ("title", "sources", "device", "host", "network")
_LEVEL = ("name", "kind", "links", "bandwidth", "latency", "algorithms")


def cluster_of(tree: Any, path: str) -> Cluster:
    place = Place(path, "")
    top = place.mapping(tree, _TOP, ("collectives", "ownership", "site"))
    sources = place.key("sources").texts(top["sources"])
    place = place.with_sources(sources)
    where = place.key("device")
    device = where.mapping(
        top["device"],
        ("name", "dtype", "peak", "memory", "memory_bandwidth"),
        ("achievable", "compute", "layouts", "like", "reserve", "tables", *_STATED),
    )
    peak = _rates(where.key("peak"), device["peak"], DTYPES)
    if not peak:
        raise where.key("peak").error("expected a rate for at least one dtype")
    peaks = dict(peak)
    dtype = where.key("dtype").choice(device["dtype"], tuple(peaks))
    achievable = _rates(where.key("achievable"), device.get("achievable", {}), tuple(peaks))
    for name, rate in achievable:
        if rate.value > peaks[name].value:
            at = where.key("achievable").key(name).key("value")
            raise at.error(f"must not be above the peak of {peaks[name].written}")
    host_at = place.key("host")
    host = host_at.mapping(top["host"], ("bandwidth", "latency"), ("power",))
    collectives_at = place.key("collectives")
    collectives = collectives_at.mapping(top.get("collectives", {}), (), _COLLECTIVES_KEYS)
    made = Cluster(
        name=paths.splitext(paths.basename(path))[0],
        title=place.key("title").text(top["title"]),
        sources=tuple(sources.items()),
        device=where.key("name").text(device["name"]),
        dtype=dtype,
        peak=peak,
        achievable=achievable,
        compute=_compute(where.key("compute"), device.get("compute", {})),
        memory=where.key("memory").quantity(device["memory"], "size", "B"),
        memory_bandwidth=where.key("memory_bandwidth").quantity(
            device["memory_bandwidth"], "bandwidth", "B/s"
        ),
        reserve=_reserve(where, device),
        any_layout=_any_layout(where.key("layouts"), device),
        **_stated(where, device),
        ownership=_ownership(place.key("ownership"), top.get("ownership", {})),
        **_texts(where, device, ("tables", "like")),
        host_bandwidth=host_at.key("bandwidth").quantity(host["bandwidth"], "bandwidth", "B/s"),
        host_latency=host_at.key("latency").quantity(host["latency"], "time", "ns", whole=True),
        host_power=_power(host_at, host),
        network=_network(place.key("network"), top["network"]),
        **_texts(collectives_at, collectives, ("measured",)),
        fits=_fits(collectives_at, collectives, path),
        chunks=collectives_at.key("chunks").whole(collectives["chunks"])
        if "chunks" in collectives
        else None,
        inter_dimension=collectives_at.key("inter_dimension").choice(
            collectives.get("inter_dimension", "ascending"), _ORDERS
        ),
    )
    if "site" not in tree:
        return made
    at = place.key("site")
    return of_file(made, at.text(tree["site"]), at.name, paths.dirname(path))


def _texts(place: Place, tree: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: place.key(key).text(tree[key]) for key in keys if key in tree}


def _fits(place: Place, tree: dict[str, Any], path: str) -> str | None:
    if "fitted_to" in tree:
        place.key("fitted_to").text(tree["fitted_to"])
    if "fits" not in tree:
        return None
    from yantra.collectives.selection.own import fits_of

    at = place.key("fits")
    fits_of(at.text(tree["fits"]), at.name)
    return path


def _rates(place: Place, tree: Any, dtypes: tuple[str, ...]) -> tuple[tuple[str, Number], ...]:
    given = place.mapping(tree, (), dtypes)
    return tuple(
        (name, place.key(name).quantity(given[name], "flops", "FLOP/s"))
        for name in dtypes
        if name in given
    )


def _stated(place: Place, tree: dict[str, Any]) -> dict[str, Any]:
    return {
        key: place.key(key).quantity(tree[key], *unit)
        for key, unit in _STATED.items()
        if key in tree
    }


def _reserve(place: Place, tree: dict[str, Any]) -> Number | None:
    if "reserve" not in tree:
        return None
    reserve = place.key("reserve").quantity(tree["reserve"], "size", "B", whole=True, least=0)
    memory = place.key("memory").quantity(tree["memory"], "size", "B")
    if reserve.value >= memory.value:
        at = place.key("reserve").key("value")
        raise at.error(expected_got(f"less than the memory of {memory.written}", reserve.written))
    return reserve


def _any_layout(place: Place, tree: dict[str, Any]) -> bool:
    if "layouts" not in tree:
        return False
    stated = place.mapping(tree["layouts"], ("value", "source"), ())
    place.key("source").source(stated["source"])
    return place.key("value").choice(stated["value"], _LAYOUTS) == _LAYOUTS[1]


def _ownership(place: Place, tree: Any) -> tuple[tuple[str, Number], ...]:
    given = place.mapping(tree, (), _OWNERSHIP)
    read = []
    for name in (name for name in _OWNERSHIP if name in given):
        at = place.key(name)
        if name == "electricity":
            number = at.quantity(given[name], "energy_price", "USD/kWh")
        elif name == "grid":
            number = at.quantity(given[name], "carbon", "g/kWh", least=0)
        elif name in _HOURLY:
            number = at.quantity(given[name], "price", "USD/h")
        else:
            number = at.ratio(given[name])
        wrong = {"utilisation": number.value > 1, "pue": number.value < 1}
        if wrong.get(name, False):
            bound = "at most 1" if name == "utilisation" else "at least 1"
            raise at.key("value").error(expected_got(bound, number.value))
        read.append((name, number))
    return tuple(read)


def _compute(place: Place, tree: Any) -> tuple[tuple[str, tuple[tuple[str, Number], ...]], ...]:
    read = []
    for model, given in place.mapping(tree, (), computes.models.names()).items():
        at = place.key(model)
        section = computes.models.get(model, at.name).options
        options = at.mapping(given, (), tuple(section.entries) if section else ())
        counts = tuple((name, at.key(name).count(value)) for name, value in options.items())
        plain = {name: int(number.value) for name, number in counts}
        computes.FIELD.read({"kind": model, "options": plain}, at.name, "")
        read.append((model, counts))
    return tuple(read)


def _network(place: Place, tree: Any) -> tuple[Level, ...]:
    items = place.items(tree)
    levels = tuple(_level(at, item) for at, item in items)
    for (at, _), level in zip(items[:-1], levels[:-1], strict=True):
        if level.members is None and level.shapes is None:
            raise at.key("members").error("missing; only the last level is without a limit")
    return levels


def _level(place: Place, tree: Any) -> Level:
    is_torus = isinstance(tree, dict) and tree.get("kind") == "torus"
    limits = ("shapes",) if is_torus else ("members", "granule")
    level = place.mapping(tree, _LEVEL, ("achievable", "power", *limits))
    kind = place.key("kind").text(level["kind"])
    if is_torus and "shapes" not in level:
        raise place.key("shapes").error("missing; expected the shapes of slices")
    if not is_torus:
        kind = _beside(place, kind)
        topologies.find(kind, place.key("kind").name)
    optional: dict[str, Any] = {}
    for key in ("members", "granule"):
        if key in level:
            optional[key] = place.key(key).count(level[key])
    if "achievable" in level:
        optional["achievable"] = place.key("achievable").quantity(
            level["achievable"], "bandwidth", "B/s"
        )
    if is_torus:
        optional["shapes"] = _shapes(place.key("shapes"), level["shapes"])
    _check_members(place, optional)
    return Level(
        name=place.key("name").text(level["name"]),
        kind=kind,
        links=place.key("links").count(level["links"]),
        bandwidth=place.key("bandwidth").quantity(level["bandwidth"], "bandwidth", "B/s"),
        latency=place.key("latency").quantity(level["latency"], "time", "ns"),
        algorithms=_algorithms(place.key("algorithms"), level["algorithms"]),
        power=_power(place, level),
        **optional,
    )


def _power(place: Place, tree: dict[str, Any]) -> Number | None:
    if "power" not in tree:
        return None
    return place.key("power").quantity(tree["power"], "power", "W", least=0)


def _check_members(place: Place, optional: dict[str, Any]) -> None:
    members, granule = optional.get("members"), optional.get("granule")
    if members is not None and members.value < 2:
        raise place.key("members").key("value").error(f"must be at least 2; got {members.written}")
    if granule is not None and (members is None or members.value % granule.value):
        whole = "a level with members" if members is None else f"a divisor of {members.written}"
        raise place.key("granule").key("value").error(f"expected {whole}, got {granule.written}")


def _shapes(place: Place, tree: Any) -> Shapes:
    shapes = place.mapping(tree, ("small", "block", "most", "source"), ())
    block = _shape(place.key("block"), shapes["block"])
    small = tuple(_shape(at, item) for at, item in place.key("small").items(shapes["small"]))
    for at, shape in enumerate(small):
        if len(shape) != len(block):
            problem = f"expected {len(block)} sides, got {'x'.join(map(str, shape))}"
            raise place.key(f"small[{at}]").error(problem)
    return Shapes(
        small=small,
        block=block,
        most=place.key("most").count(shapes["most"]),
        source=place.key("source").source(shapes["source"]),
    )


def _shape(place: Place, tree: Any) -> tuple[int, ...]:
    text = place.text(tree)
    if not re.fullmatch(r"[1-9][0-9]{0,5}(x[1-9][0-9]{0,5}){0,5}", text):
        raise place.error(expected_got('a shape such as "4x4x4"', text))
    return tuple(map(int, text.split("x")))


def _algorithms(place: Place, tree: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    table = place.mapping(tree, _COLLECTIVES, ())
    return tuple((key, _preferred(place.key(key), table[key])) for key in _COLLECTIVES)


def _preferred(place: Place, tree: Any) -> tuple[str, ...]:
    items = [(place, tree)] if isinstance(tree, str) else place.items(tree)
    named = tuple(_beside(at, at.text(item)) for at, item in items)
    for (at, _), name in zip(items, named, strict=True):
        find_algorithm(name, at.name)
    return named


def _beside(place: Place, name: str) -> str:
    path = split_path(name)
    if path is None:
        return name
    whole = paths.abspath(paths.join(paths.dirname(place.path), path[0])) + name[len(path[0]) :]
    trust.require(whole, place.name)
    return whole


class Place:
    """A place in a file: reads what stands there, or says what is wrong with it."""

    def __init__(self, path: str, key: str, sources: dict[str, str] | None = None) -> None:
        self.path = path
        self._key = key
        self._sources = sources or {}

    @property
    def name(self) -> str:
        return f"{self.path}: {self._key}" if self._key else self.path

    def key(self, name: str) -> Place:
        return Place(self.path, f"{self._key}.{name}" if self._key else name, self._sources)

    def with_sources(self, sources: dict[str, str]) -> Place:
        """Return this place, knowing the table that `[key]` refers to."""
        return Place(self.path, self._key, sources)

    def error(self, problem: str) -> ConfigError:
        return ConfigError(self.name, problem)

    def mapping(
        self, tree: Any, required: tuple[str, ...], optional: tuple[str, ...]
    ) -> dict[str, Any]:
        if not isinstance(tree, dict):
            raise self.error(expected_got("a mapping", tree))
        known = (*required, *optional)
        for key in tree:
            if key not in known:
                place = self.key(key if key.isprintable() else show(key))
                raise place.error(f"unknown key{hint(key, known)}")
        for key in required:
            if key not in tree:
                raise self.key(key).error("missing")
        return tree

    def items(self, tree: Any) -> list[tuple[Place, Any]]:
        if not isinstance(tree, list) or not tree:
            raise self.error(expected_got("a list with at least one item", tree))
        return [
            (Place(self.path, f"{self._key}[{at}]", self._sources), item)
            for at, item in enumerate(tree)
        ]

    def text(self, tree: Any) -> str:
        if not isinstance(tree, str) or not tree.strip():
            raise self.error(expected_got("a text", tree))
        return tree

    def texts(self, tree: Any) -> dict[str, str]:
        if not isinstance(tree, dict) or not tree:
            raise self.error(expected_got("a mapping of names to titles", tree))
        return {key: self.key(key).text(value) for key, value in tree.items()}

    def choice(self, tree: Any, known: tuple[str, ...]) -> str:
        if tree not in known:
            hint = did_you_mean(tree, known) if isinstance(tree, str) else ""
            raise self.error(expected_got(f"one of {', '.join(known)}", tree) + hint)
        return str(tree)

    def whole(self, tree: Any) -> int:
        """Read a whole number of at least 1."""
        if type(tree) is not int or tree < 1:
            raise self.error(expected_got("a whole number of at least 1", tree))
        return tree

    def source(self, tree: Any) -> str:
        """Every `[key]` in a source must be in the table of sources."""
        text = self.text(tree)
        for key in re.findall(r"\[([^\]]*)\]", text):
            if key not in self._sources:
                known = f"; expected one of {', '.join(self._sources)}"
                hint = did_you_mean(key, self._sources) or known
                raise self.error(f"[{key}] is not in sources{hint}")
        return text

    def quantity(
        self,
        tree: Any,
        kind: units.Kind,
        unit: str,
        whole: bool = False,
        least: float | None = None,
    ) -> Number:
        """Read a number with a unit and a source, in `unit`; above 0, or at least `least`."""
        stated = self._stated(tree)
        where = self.key("value")
        value = units.parse(stated["value"], kind, unit, where.name)
        if value < least if least is not None else value <= 0:
            bound = "above 0" if least is None else f"at least {least:g}"
            raise where.error(f"must be {bound} {unit}; got {stated['value']}")
        if whole and not value.is_integer():
            raise where.error(expected_got(f"a whole number of {unit}", stated["value"]))
        return self._number(stated, value, unit)

    def ratio(self, tree: Any) -> Number:
        """Read a number above 0 without a unit, with a source."""
        stated = self._stated(tree)
        value = stated["value"]
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1e6:
            raise self.key("value").error(expected_got("a number above 0", value))
        return self._number(stated, float(value), "")

    def count(self, tree: Any) -> Number:
        stated = self._stated(tree)
        return self._number(stated, self.key("value").whole(stated["value"]), "")

    def _stated(self, tree: Any) -> dict[str, Any]:
        is_yours = isinstance(tree, dict) and tree.get("basis") == "yours"
        required, optional = (("value",), ("source",)) if is_yours else (("value", "source"), ())
        return self.mapping(tree, required, ("basis", *optional))

    def _number(self, stated: dict[str, Any], value: float, unit: Any) -> Number:
        basis: Any = self.key("basis").choice(stated.get("basis", "published"), get_args(Basis))
        source = self.key("source").source(stated["source"]) if "source" in stated else basis
        written = str(stated["value"])
        return Number(value=value, unit=unit, written=written, source=source, basis=basis)
