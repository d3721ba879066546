"""The field `background`: others' traffic on the network.

    background: {kind: incast, size: 1 MB, receiver: 3, at: 50 us}
    background:
    - {kind: poisson, load: 0.3, bandwidth: 50 GB/s, duration: 1 ms, hosts: 8-15, seed: 7}
    - {kind: file, path: flows.csv}

A generator's options are beside its kind, then those of all kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError, expected_got, hint
from yantra.base.fields import Field, File, Quantity, Schema, Section, Whole
from yantra.base.fields.plugin_names import read_name, write_name
from yantra.base.records import Record
from yantra.scenario.disturbances import BackgroundTraffic
from yantra.scenario.fields import Ranks, check_repeats

if TYPE_CHECKING:
    from yantra.base.plugin_files import Named

FILE = "file"
"""The kind that is a list of flows in a file."""

_LARGEST_SEED = 2**63 - 1


class _OfFile(Record):
    path: str


_FILE = Section(_OfFile, {"path": ("path", File(), "a list of flows: src,dst,bytes,start_ns")})
OF_ALL = Section(
    BackgroundTraffic,
    {
        "hosts": ("hosts", Ranks(), "the hosts that send and receive; all if left out"),
        "at": ("at_ns", Quantity("time", "ns", whole=True, at_least=0), "when it begins"),
        "every": (
            "every_ns",
            Quantity("time", "ns", whole=True, above=0),
            "time from one start to the next",
        ),
        "times": ("times", Whole(at_least=1, at_most=1_000_000), "how many times it starts"),
        "seed": ("seed", Whole(at_least=0, at_most=_LARGEST_SEED), "of the random draws"),
    },
)
"""What all kinds have."""


class BackgroundField(Field):
    """One or more kinds of traffic with options, held as a tuple."""

    expected = "traffic such as {kind: incast, size: 1 MB}, or a list of such"

    def read(self, tree: Any, where: str, folder: str) -> tuple[BackgroundTraffic, ...]:
        if not isinstance(tree, list):
            return (self._one(tree, where, folder),)
        return tuple(self._one(one, f"{where}[{at}]", folder) for at, one in enumerate(tree))

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, tuple):
            raise ConfigError(where, expected_got("a tuple of BackgroundTraffic", value))
        for at, one in enumerate(value):
            OF_ALL.check(one, f"{where}[{at}]")
            _check_turns(one, f"{where}[{at}]")
            record_of(one, f"{where}[{at}]")

    def write(self, value: tuple[BackgroundTraffic, ...], folder: str) -> list[dict[str, Any]]:
        written = []
        for one in value:
            section, given = options_of(one.kind), dict(one.options)
            options = {
                key: field.write(given[name], folder)
                for key, (name, field, _) in section.entries.items()
                if name in given
            }
            kind = one.kind if one.kind == FILE else write_name(_generators(), one.kind, folder)
            written.append({"kind": kind} | options | OF_ALL.write(one, folder))
        return written

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        """Set a field of the only generator, or of one by number."""
        if not path:
            return value
        items = tree if isinstance(tree, list) else [] if tree is None else [tree]
        number, *rest = path if path[0].isdigit() else ("0", *path)
        at = int(number[:9])
        if at >= len(items):
            raise ConfigError(f"{where}[{number}]", f"no such item; there are {len(items)}")
        place, one = f"{where}[{at}]", items[at]
        kind = one.get("kind") if isinstance(one, dict) else None
        if not rest or not isinstance(kind, str):
            new = value if not rest else {rest[0]: value}
        elif rest[0] == "kind":
            new = one | {"kind": value}
        else:
            name = read_name(kind, folder, f"{place}.kind")
            section = OF_ALL if rest[0] in OF_ALL.entries else options_of(name, f"{place}.kind")
            given = {key: one[key] for key in one if key in section.entries}
            new = one | section.put(given, tuple(rest), value, place, folder)
        return [*items[:at], new, *items[at + 1 :]]

    def files(self, value: tuple[BackgroundTraffic, ...]) -> tuple[str, ...]:
        from yantra.network.traffic.distribution import NAMES

        found: list[str] = []
        for one in value:
            given = dict(one.options)
            sizes = given.get("sizes")
            found += [given["path"]] if one.kind == FILE else []
            found += [sizes] if isinstance(sizes, str) and sizes not in NAMES else []
            file = None if one.kind == FILE else _generators().file_of(one.kind)
            found += [file] if file else []
        return tuple(found)

    def schema(self) -> Schema:
        form = {"type": "object", "required": ["kind"], "additionalProperties": True}
        return {"anyOf": [form, {"type": "array", "items": form}]}

    def _one(self, tree: Any, where: str, folder: str) -> BackgroundTraffic:
        if not isinstance(tree, dict):
            raise ConfigError(where, expected_got(self.expected, tree))
        kind = tree.get("kind")
        if not isinstance(kind, str) or not kind:
            raise ConfigError(f"{where}.kind", expected_got("the name of a generator", kind))
        name = read_name(kind, folder, f"{where}.kind")
        section = options_of(name, f"{where}.kind")
        for key in tree:
            if key != "kind" and key not in section.entries and key not in OF_ALL.entries:
                known = [*section.entries, *OF_ALL.entries]
                raise ConfigError(f"{where}.{key}", f"unknown key{hint(key, known)}")
        given = {key: tree[key] for key in tree if key in section.entries}
        record = section.read(given, where, folder)
        own = (section.entries[key][0] for key in given)
        options = tuple((option, getattr(record, option)) for option in own)
        shared = {
            field: kind_of.read(tree[key], f"{where}.{key}", folder)
            for key, (field, kind_of, _) in OF_ALL.entries.items()
            if key in tree
        }
        one = BackgroundTraffic(kind=name, options=options, **shared)
        _check_turns(one, where)
        return one


def _check_turns(one: BackgroundTraffic, where: str) -> None:
    check_repeats(one.every_ns, one.times, where)
    if one.hosts is not None and len(one.hosts) < 2:
        raise ConfigError(f"{where}.hosts", f"expected at least 2 hosts, got {len(one.hosts)}")


def options_of(kind: Named, where: str = "background.kind") -> Section:
    if kind == FILE:
        return _FILE
    section: Section = _generators().get(kind, where).options
    return section


def record_of(one: BackgroundTraffic, where: str) -> Any:
    section = options_of(one.kind, f"{where}.kind")
    try:
        record = section.record(**dict(one.options))
    except TypeError as error:
        raise ConfigError(f"{where}.options", str(error)) from None
    section.check(record, where)
    return record


def _generators() -> Any:
    from yantra.network.traffic import generators

    return generators
