"""Fabrics for people: the list of kinds, and a report on one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, NamedTuple

from yantra.base import units
from yantra.base.errors import ConfigError, expected_got, hint
from yantra.base.text import count, table
from yantra.fabric.graphs import beside, builders, files, graph_of, read
from yantra.fabric.graphs.builder import Builder
from yantra.fabric.graphs.figures import Figure, Figures
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.graphs.notation import is_notation, parse
from yantra.fabric.infragraph import is_infragraph

HEAD = ("fabric", "needs", "takes")


class Kind(NamedTuple):
    """A row of the list: options without and with defaults."""

    name: str
    needs: tuple[str, ...]
    takes: tuple[str, ...]


class Shown(NamedTuple):
    """A fabric to show: graph, builder, options as in a file.

    `assumed` are options nobody stated.
    """

    name: str
    graph: Graph
    builder: Builder | None
    options: dict[str, Any]
    assumed: tuple[str, ...]


def overview() -> list[Kind]:
    rows = []
    for name in builders.names():
        section = builders.get(name).options
        needs = tuple(
            key for key, (own, _, _) in section.entries.items() if not hasattr(section.record, own)
        )
        takes = tuple(key for key in section.entries if key not in needs)
        rows.append(Kind(name, needs, takes))
    return rows


def shown(name: str, settings: Mapping[str, Any]) -> Shown:
    """Return a fabric by kind, file or notation.

    Missing options are the example's. `weights.LABEL` and `buffers.SWITCH` work for all.
    """
    more: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for key, value in settings.items():
        head, _, rest = key.partition(".")
        if head in beside.BESIDE:
            path = (rest,) if rest else ()
            more[head] = beside.BESIDE[head].put(more.get(head), path, value, f"--set {key}", "")
        else:
            own[key] = value
    of = _own(name, own)
    graph = beside.with_beside(of.graph, beside.read(more, f"{name}."), f"{name}.")
    return of._replace(graph=graph, options={**of.options, **more})


def _own(name: str, settings: Mapping[str, Any]) -> Shown:
    if is_infragraph(name):
        return _infragraph(name, settings)
    if files.is_file(name):
        for key in settings:
            raise ConfigError(f"--set {key}", f"{name} is a file, which has no options")
        return Shown(name, files.read(name), None, {}, ())
    if not is_notation(name):
        return _built(name, name, dict(settings))
    if "dimensions" in settings:
        raise ConfigError("--set dimensions", f"{name} says them already")
    dimensions = len(parse(name, name))
    options = {"dimensions": name, **settings}
    assumed = {"bandwidth": ["50 GB/s"] * dimensions, "latency": ["500 ns"] * dimensions}
    return _built(name, "product", options, assumed)


def _infragraph(name: str, settings: Mapping[str, Any]) -> Shown:
    from yantra.fabric.infragraph.speeds import LINKS

    tree: Any = {}
    for key, value in settings.items():
        head, _, rest = key.partition(".")
        link, _, field = rest.rpartition(".")
        if head != "links" or not link:
            expected = "links.NAME.bandwidth or links.NAME.latency"
            raise ConfigError(f"--set {key}", f"unknown key; expected {expected}")
        tree = LINKS.put(tree, (link, field), value, "--set links", "")
    said = LINKS.read(tree, "--set links", "")
    return Shown(name, files.read(name, said), None, {"links": tree} if tree else {}, ())


def _built(
    name: str, kind: str, settings: dict[str, Any], example: Mapping[str, Any] | None = None
) -> Shown:
    builder_kind = builders.get(kind, name)
    section = builder_kind.options
    for key in settings:
        if key not in section.entries:
            raise ConfigError(f"--set {key}", f"unknown key{hint(key, section.entries)}")
    example = builder_kind.example if example is None else example
    assumed = {
        key: example[key]
        for key, (own, _, _) in section.entries.items()
        if key not in settings
        and key in example
        and (not settings or not hasattr(section.record, own))
    }
    builder = read(kind, {**assumed, **settings}, name)
    graph = graph_of(builder, name)
    rank = graph.unreached()
    if rank is not None:
        raise ConfigError(name, f"rank 0 and rank {rank} do not reach each other")
    return Shown(name, graph, builder, {**assumed, **settings}, tuple(assumed))


def prices_of(texts: Iterable[str]) -> dict[str, float]:
    prices: dict[str, float] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        try:
            price = float(number) if equals else -1.0
        except ValueError:
            price = -1.0
        if not name or not isfinite(price) or price < 0:
            raise ConfigError("--price", expected_got("NAME=USD, such as core=30000", text))
        if name in prices:
            raise ConfigError("--price", f"{name} is priced twice")
        prices[name] = price
    return prices


def report(of: Shown, found: Figures) -> str:
    lines = [f"{of.name}: {count(found.ranks, 'rank')}, {count(found.links, 'directed link')}"]
    if of.options:
        options = ", ".join(f"{key} {_text(value)}" for key, value in of.options.items())
        lines.append(f"options: {options}")
    if of.assumed:
        lines.append(f"of these not set, but taken from an example: {', '.join(of.assumed)}")
    head = ["devices", "kind", "count", "ports"]
    tiers = [
        [tier.name, tier.kind, str(tier.devices), _span(*map(str, tier.ports))]
        for tier in found.tiers
    ]
    if any(tier.buffer_bytes for tier in found.tiers):
        head.append("buffer")
        for row, tier in zip(tiers, found.tiers, strict=True):
            span = tier.buffer_bytes
            row.append(_span(*map(units.format_size, span)) if span else "-")
    lines += ["", *table(head, tiers, left=2), ""]
    labels = [
        (
            label.label,
            str(label.links),
            _span(*(units.format_bandwidth(rate * 1e9) for rate in label.bytes_per_ns)),
            _span(*(units.format_time(latency) for latency in label.latency_ns)),
        )
        for label in found.labels
    ]
    lines += [*table(("links", "count", "bandwidth", "latency"), labels), ""]
    rates = _span(*(units.format_bandwidth(rate * 1e9) for rate in found.injection))
    figures = [
        ("bandwidth of a rank", rates, "all its ports, one way"),
        ("bisection", _rate(found.bisection), f"one way; {found.bisection.how}"),
        ("diameter", _hops(found.diameter), found.diameter.how),
        ("between ranks", _hops(found.mean_hops), f"on average; {found.mean_hops.how}"),
    ]
    if found.price_usd is not None:
        per_rank = f"{found.price_usd / found.ranks:,.2f} USD per rank, of what is priced"
        figures.append(("price", f"{found.price_usd:,.2f} USD", per_rank))
    lines += table(("figure", "value", "how"), figures, left=3)
    return "\n".join(lines) + "\n"


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_text(one)}' for key, one in value.items())}}}"
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _rate(figure: Figure) -> str:
    return "-" if figure.value is None else units.format_bandwidth(figure.value * 1e9)


def _hops(figure: Figure) -> str:
    if figure.value is None:
        return "-"
    if float(figure.value).is_integer():
        return count(int(figure.value), "link")
    return f"{figure.value:.4g} links"
