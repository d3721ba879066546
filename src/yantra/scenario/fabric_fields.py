"""The fields `cluster.fabric`, `cluster.routing` and `cluster.placement` of a scenario.

    fabric: {kind: fat_tree, k: 8, bandwidth: 50 GB/s, latency: 500 ns}
    fabric: ./pod.graphml
    fabric: R(4)_FC(8)_SW(32)

    fabric: {kind: pod.infragraph.yaml, links: {pcie: {bandwidth: 64 GB/s, latency: 300 ns}}}

Options are beside the kind. A notation takes bandwidth and latency of as many dimensions of
`cluster.topology`. `weights` and `buffers` go with any (`yantra.fabric.graphs.beside`).
"""

from __future__ import annotations

from os import path as paths
from typing import TYPE_CHECKING, Any, get_args

from yantra.base.errors import ConfigError, expected_got
from yantra.base.fields import Field, Many, Plugin, Schema, Whole
from yantra.base.fields.plugin_names import read_name, write_name
from yantra.scenario.types import Placement, PlacementKind

if TYPE_CHECKING:
    from yantra.base.fields import Section


class FabricField(Field):
    """A builder with options, a graph's path, or a notation; held as a `Plugin`."""

    expected = "a kind of fabric with its options, the path of a graph, or a product of dimensions"

    def read(self, tree: Any, where: str, folder: str) -> Plugin:
        from yantra.fabric.graphs import beside, files
        from yantra.fabric.graphs.notation import is_notation

        if isinstance(tree, str) and files.is_file(tree):
            return Plugin(kind=_from_folder(tree, folder))
        if isinstance(tree, str) and is_notation(tree):
            return Plugin(kind=tree)
        whole = {"kind": tree} if isinstance(tree, str) else tree
        if not isinstance(whole, dict):
            raise ConfigError(where, expected_got(self.expected, tree))
        kind, given = whole.get("kind"), {key: whole[key] for key in whole if key != "kind"}
        if not isinstance(kind, str) or not kind:
            raise ConfigError(f"{where}.kind", expected_got("the name of a fabric", kind))
        given, more = beside.parted(given)
        said = beside.read(more, f"{where}.", folder)
        own = self._own(kind, given, where, folder, bool(said))
        return own.replace(options=own.options + said) if said else own

    def _own(self, kind: str, given: Any, where: str, folder: str, has_more: bool) -> Plugin:
        from yantra.fabric.graphs import files
        from yantra.fabric.graphs.notation import is_notation

        if _is_infragraph(kind):
            return self._infragraph(kind, given, where, folder)
        if files.is_file(kind) or is_notation(kind):
            if given or not has_more:
                problem = f"expected the name of a fabric; write {kind} alone"
                raise ConfigError(f"{where}.kind", problem)
            return Plugin(kind=_from_folder(kind, folder) if files.is_file(kind) else kind)
        name = read_name(kind, folder, f"{where}.kind")
        section = self._section(name, f"{where}.kind")
        record = section.read(given, where, folder)
        names = (section.entries[key][0] for key in section.entries if key in given)
        return Plugin(kind=name, options=tuple((own, getattr(record, own)) for own in names))

    def check(self, value: Any, where: str) -> None:
        from yantra.fabric.graphs import beside, builder_of

        if not isinstance(value, Plugin):
            raise ConfigError(where, expected_got("a Plugin with the kind of a fabric", value))
        for name, given in beside.beside_of(value):
            beside.BESIDE[name].check(given, f"{where}.{name}")
        value = beside.own_of(value)
        if isinstance(value.kind, type) or not is_plain(value.kind):
            builder_of(value, where)
        elif _is_infragraph(value.kind):
            for name, given in value.options:
                if name != "links":
                    raise ConfigError(f"{where}.{name}", "unknown key; expected links")
                _links().check(given, f"{where}.links")
        elif value.options:
            raise ConfigError(where, f"{value.kind} has no options")

    def write(self, value: Plugin, folder: str) -> Any:
        from yantra.fabric.graphs import beside

        own = self._write_own(beside.own_of(value), folder)
        more = {
            name: beside.BESIDE[name].write(said, folder) for name, said in beside.beside_of(value)
        }
        return (
            {"kind": own, **more} if more and isinstance(own, str) else own | more if more else own
        )

    def _write_own(self, value: Plugin, folder: str) -> Any:
        from yantra.fabric.graphs import builders, files

        kind = value.kind
        if isinstance(kind, str) and files.is_file(kind):
            relative = folder and not paths.isabs(kind) and not _is_blueprint(kind)
            written = paths.relpath(kind, folder) if relative else kind
            said = dict(value.options).get("links")
            return {"kind": written, "links": _links().write(said, folder)} if said else written
        if isinstance(kind, str) and is_plain(kind):
            return kind
        section, given = builders.get(kind).options, dict(value.options)
        options = {
            key: field.write(given[name], folder)
            for key, (name, field, _) in section.entries.items()
            if name in given
        }
        return {"kind": write_name(builders, kind, folder), **options}

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        from yantra.fabric.graphs import beside

        if not path:
            return value
        whole = tree if isinstance(tree, dict) else {} if tree is None else {"kind": tree}
        if path[0] == "kind":
            return whole | {"kind": Field.put(self, None, path[1:], value, f"{where}.kind", folder)}
        kind = whole.get("kind")
        if path[0] in beside.BESIDE:
            place, said = f"{where}.{path[0]}", whole.get(path[0])
            put = beside.BESIDE[path[0]].put(said, path[1:], value, place, folder)
            return whole | {path[0]: put}
        whole, more = beside.parted(whole)
        if isinstance(kind, str) and _is_infragraph(kind) and path[0] == "links":
            links = _links().put(whole.get("links"), path[1:], value, f"{where}.links", folder)
            return {"kind": kind, "links": links, **more}
        if not isinstance(kind, str) or is_plain(kind):
            problem = f"unknown key; {kind or where} has no options"
            raise ConfigError(f"{where}.{path[0]}", problem)
        at = f"{where}.kind"
        section = self._section(read_name(kind, folder, at), at)
        options = {key: whole[key] for key in whole if key != "kind"}
        return {"kind": kind, **section.put(options, path, value, where, folder), **more}

    def files(self, value: Any) -> tuple[str, ...]:
        from yantra.fabric.graphs import builders, files

        if isinstance(value.kind, str) and files.is_file(value.kind):
            return () if _is_blueprint(value.kind) else (value.kind,)
        if isinstance(value.kind, str) and is_plain(value.kind):
            return ()
        file = builders.file_of(value.kind)
        return (file,) if file else ()

    def schema(self) -> Schema:
        kind = {"type": "string", "minLength": 1}
        form = {"type": "object", "required": ["kind"], "additionalProperties": True}
        return {"anyOf": [kind, form]}

    def _infragraph(self, kind: str, given: dict[str, Any], where: str, folder: str) -> Plugin:
        for key in given:
            if key != "links":
                raise ConfigError(f"{where}.{key}", "unknown key; expected links")
        said = _links().read(given.get("links", {}), f"{where}.links", folder)
        options = (("links", said),) if said else ()
        return Plugin(kind=_from_folder(kind, folder), options=options)

    def _section(self, kind: str, where: str) -> Section:
        from yantra.fabric.graphs import builders

        return builders.get(kind, where).options


def _links() -> Field:
    from yantra.fabric.infragraph.speeds import LINKS

    return LINKS


def _is_infragraph(kind: str) -> bool:
    from yantra.fabric.infragraph import is_infragraph

    return is_infragraph(kind)


def _is_blueprint(kind: str) -> bool:
    from yantra.fabric.infragraph import PREFIX

    return kind.startswith(PREFIX)


def _from_folder(path: str, folder: str) -> str:
    is_path = folder and not _is_blueprint(path)
    return paths.normpath(paths.join(folder, path)) if is_path else path


def is_plain(kind: str) -> bool:
    """Return whether a fabric is a file or a notation, which have no options."""
    from yantra.fabric.graphs import files
    from yantra.fabric.graphs.notation import is_notation

    return files.is_file(kind) or is_notation(kind)


class RoutingField(Field):
    """A routing over a fabric: a name, or a kind with options,

    a field of `yantra.network.routings`, imported on use.
    """

    expected = "the name of a routing, or {kind, options}"

    def read(self, tree: Any, where: str, folder: str) -> Any:
        return _routing().read(tree, where, folder)

    def check(self, value: Any, where: str) -> None:
        _routing().check(value, where)

    def write(self, value: Any, folder: str) -> Any:
        return _routing().write(value, folder)

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        return _routing().put(tree, path, value, where, folder)

    def schema(self) -> Schema:
        return _routing().schema()

    def describe(self) -> str:
        return _routing().describe()


def _routing() -> Field:
    from yantra.network.routings import FIELD

    return FIELD


class PlacementField(Field):
    """`linear`, `by_rail`, `random`, `{kind: random, seed: 7}`, or a list of devices."""

    expected = "linear, by_rail, random, {kind: random, seed: 7}, or a list of devices"
    _devices = Many(Whole(at_least=0))
    _seed = Whole(at_least=0, at_most=2**63 - 1)

    def read(self, tree: Any, where: str, folder: str) -> Any:
        if isinstance(tree, list):
            placement = Placement(kind="list", devices=self._devices.read(tree, where, folder))
        else:
            whole = {"kind": tree} if isinstance(tree, str) else tree
            if not isinstance(whole, dict) or "kind" not in whole or whole["kind"] == "list":
                raise ConfigError(where, expected_got(self.expected, tree))
            for key in whole:
                if key not in ("kind", "seed"):
                    problem = "unknown key; expected one of kind, seed"
                    raise ConfigError(f"{where}.{key}", problem)
            if "seed" in whole and whole["kind"] != "random":
                raise ConfigError(f"{where}.seed", "only with kind random")
            placement = Placement(**whole)
        self.check(placement, where)
        return placement

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, Placement):
            raise ConfigError(where, expected_got("a Placement", value))
        if value.kind not in get_args(PlacementKind):
            raise ConfigError(where, expected_got(self.expected, value.kind))
        self._seed.check(value.seed, f"{where}.seed")
        self._devices.check(value.devices, where)
        if value.devices and value.kind != "list":
            raise ConfigError(where, f"only a list has devices, not {value.kind}")
        if len(set(value.devices)) < len(value.devices):
            twice = next(one for one in value.devices if value.devices.count(one) > 1)
            raise ConfigError(where, f"device {twice} is listed more than once")

    def write(self, value: Any, folder: str) -> Any:
        if value.kind == "list":
            return list(value.devices)
        return {"kind": value.kind, "seed": value.seed} if value.seed else value.kind

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        if path not in (("kind",), ("seed",)):
            return super().put(tree, path, value, where, folder)
        whole = tree if isinstance(tree, dict) else {"kind": tree if tree else "random"}
        return whole | {path[0]: value}

    def schema(self) -> Schema:
        named = {"enum": ["linear", "by_rail", "random"]}
        listed = {"type": "array", "items": {"type": "integer", "minimum": 0}}
        seeded = {"type": "object", "required": ["kind"], "additionalProperties": True}
        return {"anyOf": [named, listed, seeded]}
