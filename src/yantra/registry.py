"""Named plug-ins: one file each, found without importing the others.

A built-in plug-in `ring` is the file `ring.py` of a package; the file ends with the line
`PLUGIN = <object>`, which tells it from the helpers beside it. Where the name cannot be a file's
(`1f1b`, `zb-h1`), a line `PLUGIN_NAME = "1f1b"` gives it. A third-party plug-in is an entry point
of the group, its name the plug-in's name, its value the object.

Trade-off: the files are searched for those lines as text, so that listing the names imports nothing
and looking one up imports one file. A built-in is found before any entry point is read; that an
entry point repeats its name is reported when the names are listed.
"""

from __future__ import annotations

import re
import sys
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from yantra.errors import ConfigError, InternalError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

T = TypeVar("T")

_PLUGIN_LINE = re.compile(r"^PLUGIN\b", re.MULTILINE)
_NAME_LINE = re.compile(r'^PLUGIN_NAME = "([^"]+)"$', re.MULTILINE)


class Registry(Generic[T]):
    """The plug-ins of one kind, by name.

    `kind` is what messages call them ("collective algorithm"), `package` the folder of the
    built-ins ("yantra.collectives"), `entry_point_group` the group third parties register under.
    """

    def __init__(self, kind: str, package: str, entry_point_group: str) -> None:
        self.kind = kind
        self.package = package
        self.entry_point_group = entry_point_group

    def names(self) -> tuple[str, ...]:
        """Return every name, sorted; two plug-ins of one name are a ConfigError."""
        origins = {
            name: f"the built-in {self.package}.{module}" for name, module in self._built_in.items()
        }
        for point in self._entry_points():
            if point.name in origins:
                raise ConfigError(
                    _origin(point),
                    f"the {self.kind} '{point.name}' is already given by {origins[point.name]}; "
                    "rename one or uninstall its package",
                )
            origins[point.name] = _origin(point)
        return tuple(sorted(origins))

    def get(self, name: str, where: str | None = None) -> T:
        """Return the plug-in; `where` is the field an unknown name is reported at."""
        plugin: T
        if name in self._built_in:
            plugin = import_module(f"{self.package}.{self._built_in[name]}").PLUGIN
            return plugin
        points = tuple(self._entry_points().select(name=name))
        if len(points) == 1:
            plugin = _load(points[0])
            return plugin
        names = self.names()
        raise ConfigError(
            where or self.kind,
            f"no {self.kind} is named '{name}'; expected one of {', '.join(names)}"
            + did_you_mean(name, names),
        )

    def _entry_points(self) -> EntryPoints:
        return _installed(tuple(sys.path), self.entry_point_group)

    @cached_property
    def _built_in(self) -> dict[str, str]:
        """The module of every built-in, by the name of the plug-in."""
        spec = find_spec(self.package)
        if spec is None or spec.submodule_search_locations is None:
            raise InternalError(f"{self.package} is not a package")
        modules = {}
        for folder in spec.submodule_search_locations:
            for file in Path(folder).glob("*.py"):
                text = file.read_text(encoding="utf-8")
                if _PLUGIN_LINE.search(text):
                    named = _NAME_LINE.search(text)
                    modules[named[1] if named else file.stem] = file.stem
        return modules


@cache
def _installed(path: tuple[str, ...], group: str) -> EntryPoints:
    """Return what the packages on a path register. Reading them takes longer than a compile."""
    from importlib.metadata import entry_points

    return entry_points(group=group)


def plugin_of_file(path: Path, kind: str, base: type[T]) -> type[T]:
    """Return the plug-in a file ends with, a class derived from `base`, wherever the file lies."""
    spec = spec_from_file_location(f"checked_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ConfigError(str(path), "no such file; expected a Python file, or a name without .py")
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    plugin = getattr(module, "PLUGIN", None)
    if isinstance(plugin, type) and issubclass(plugin, base):
        return plugin
    raise ConfigError(
        str(path), f"gives no {kind}; expected a line PLUGIN = <a {base.__name__} class>"
    )


def _origin(point: EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else "an unnamed package"
    return f"entry point '{point.name} = {point.value}' of {package}"


def _load(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:
        raise ConfigError(
            _origin(point), f"cannot be imported: {type(error).__name__}: {error}"
        ) from error
