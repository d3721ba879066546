"""Plug-ins by name: one file each, found without importing the others.

The built-in `ring` is `ring.py` of a package, with a line `PLUGIN = <object>`; `PLUGIN_NAME =
"1f1b"` gives a name that no file can have. Third parties use an entry point of the group, or a
path.

Trade-off: files are searched for those lines as text, so listing imports nothing.
"""

from __future__ import annotations

import os
import sys
from functools import cache, cached_property
from importlib import import_module
from os import path as paths
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from yantra.base import plugin_files
from yantra.base.errors import ConfigError, InternalError, did_you_mean, show
from yantra.base.plugin_files import Named
from yantra.base.regular import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint, EntryPoints

T = TypeVar("T")

_PLUGIN = "PLUGIN"
_GROUPS = "yantra."  # prefix of all entry point groups


_registries: dict[str, Registry[Any]] = {}


def plugged_files() -> tuple[tuple[str, str], ...]:
    """Return the plugged files, each with its registry's package, sorted."""
    known = _registries.items()
    return tuple(sorted((package, file) for package, one in known for file in one.plugged))


def plug_in_files(files: Iterable[tuple[str, str]]) -> None:
    """Plug in what another process's `plugged_files` returned. Raises ConfigError."""
    for package, file in files:
        import_module(package)
        _registries[package].plug_in(file)


def installed_plugins() -> tuple[tuple[str, str], ...]:
    """Return name and version of installed packages with plug-ins, sorted."""
    return _packages(tuple(sys.path))


class Registry(Generic[T]):
    """The plug-ins of a kind, by name.

    `kind` is for messages ("collective algorithm"), `package` the built-ins'
    ("yantra.collectives"), `entry_point_group` third parties'. With `base`, a plug-in is a class
    derived from it; "module.Class" is imported on use.
    """

    def __init__(
        self, kind: str, package: str, entry_point_group: str, base: type[Any] | str | None = None
    ) -> None:
        self.kind = kind
        """What a plug-in of it is called in errors."""
        self.package = package
        """The package whose modules are the plug-ins that come with Yantra."""
        self.entry_point_group = entry_point_group
        """The group of entry points by which other packages add some."""
        self._base = base
        self._plugged: dict[str, str] = {}
        self._imported: dict[Named, T] = {}
        _registries[package] = self

    @cached_property
    def expected(self) -> str:
        """What messages expect."""
        from yantra.base.text import article

        base = self._base
        name = base.__name__ if isinstance(base, type) else (base or "").rpartition(".")[2]
        return f"{article(name)} {name} class" if name else f"{article(self.kind)} {self.kind}"

    def fits(self, plugin: object) -> bool:
        """Whether an object is of this kind."""
        base = self._base
        if isinstance(base, str):
            module, _, name = base.rpartition(".")
            base = self._base = cast("type[Any]", getattr(import_module(module), name))
        return base is None or (isinstance(plugin, type) and issubclass(plugin, base))

    def names(self) -> tuple[str, ...]:
        """Return every name, sorted; ConfigError for duplicates."""
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
        return tuple(sorted({*origins, *self._plugged}))

    def get(self, name: Named, where: str | None = None) -> T:
        """Return the plug-in of a name, file or class.

        `where` is for errors. Raises ConfigError.
        """
        known = self._imported.get(name)
        if known is not None:
            return known
        plugin: T
        if isinstance(name, type):
            plugin = self._checked(name, where or self.kind)
            return plugin
        if plugin_files.split_path(name) is not None:
            return self.of_file(name, where)
        if name in self._plugged:
            return self.of_file(self._plugged[name], where)
        module = self._module_of(name)
        if module is not None:
            plugin = import_module(f"{self.package}.{module}").PLUGIN
            self._imported[name] = plugin  # a compile asks for a dozen
            return plugin
        points = tuple(self._entry_points().select(name=name))
        if len(points) == 1:
            plugin = self._checked(_load(points[0]), _origin(points[0]))
            return plugin
        names = self.names()
        raise ConfigError(
            where or self.kind,
            f"no {self.kind} is named '{name}'; expected one of {', '.join(names)}"
            + did_you_mean(name, names),
        )

    def of_file(self, path: str, where: str | None = None) -> T:
        """Return the plug-in of any file. Raises ConfigError."""
        from yantra.base.plugin_modules import load

        module = load(path, where)
        place, prefix = (where, f"{path}: ") if where else (path, "")
        line = f"a line PLUGIN = <{self.expected}>"
        if not hasattr(module, "PLUGIN"):
            raise ConfigError(place, f"{prefix}gives no {self.kind}; expected {line}")
        plugin: T = self._checked(module.PLUGIN, place, prefix, line)
        return plugin

    def split(self, name: str) -> tuple[str, str]:
        """Return a name and the number after it: "4" of `tree4` and `./tree.py:4`,

        "" if there is none or the whole is a name.
        """
        if name in self._imported:
            return name, ""
        path = plugin_files.split_path(name)
        if path is not None:
            return path
        base = name.rstrip("0123456789")
        if not base or base == name or name in self.names():
            return name, ""
        return base, name[len(base) :]

    def shown(self, name: Named) -> str:
        """Return a plug-in's name in texts."""
        if isinstance(name, type):
            return self._built_in_name(name) or name.__name__
        path = plugin_files.split_path(name)
        return name if path is None else plugin_files.name_in(path[0]) + path[1]

    def file_of(self, name: Named) -> str | None:
        """Return the user's file of a plug-in, or None."""
        if isinstance(name, type):
            in_package = self._built_in_name(name) is not None
            return None if in_package else plugin_files.file_of_class(name)
        if name in self._imported:
            return None
        path = plugin_files.split_path(name)
        return path[0] if path is not None else self._plugged.get(self.split(name)[0])

    def written(self, name: Named) -> str | None:
        """Return the text of a plug-in for another process,

        None for a class in no file.
        """
        file = self.file_of(name)
        if isinstance(name, type):
            return file or self._built_in_name(name)
        if file is None or plugin_files.split_path(name) is not None:
            return name
        number = self.split(name)[1]
        return f"{file}:{number}" if number else file

    def plug_in(self, path: str) -> bool:
        """Register a file's plug-in; False if it already is.

        Raises ConfigError if the name is taken, by what.
        """
        self.of_file(path)
        name = plugin_files.name_in(path)
        taken = self.origin_of(name)
        if name in self._plugged and _same(self._plugged[name], path):
            return False
        if taken:
            raise ConfigError(
                path,
                f"the {self.kind} '{name}' is already given by {taken}; rename the file, or name "
                'its plug-in by a line PLUGIN_NAME = "..."',
            )
        self._plugged[name] = path
        return True

    @property
    def plugged(self) -> tuple[str, ...]:
        """The files of `plug_in`."""
        return tuple(self._plugged.values())

    def unplug(self, path: str) -> None:
        """Undo `plug_in`."""
        self._plugged = {name: file for name, file in self._plugged.items() if file != path}

    def origin_of(self, name: str) -> str:
        """Return what gives a name, in words; "" if it is free."""
        if name in self._plugged:
            return self._plugged[name]
        module = self._module_of(name)
        if module is not None:
            return f"the built-in {self.package}.{module}"
        return next((_origin(point) for point in self._entry_points().select(name=name)), "")

    def _checked(self, plugin: Any, place: str, prefix: str = "", expected: str = "") -> Any:
        if not self.fits(plugin):
            is_class = isinstance(plugin, type)
            given = f"the class {plugin.__name__}" if is_class else show(plugin)
            raise ConfigError(place, f"{prefix}expected {expected or self.expected}, got {given}")
        lacking = ", ".join(sorted(getattr(plugin, "__abstractmethods__", ())))
        if lacking:
            problem = f"the class {plugin.__name__} lacks {lacking}, which a {self.kind} needs"
            raise ConfigError(place, prefix + problem)
        return plugin

    def _built_in_name(self, plugin: type[Any]) -> str | None:
        package, _, module = plugin.__module__.rpartition(".")
        if package != self.package:
            return None
        names = {module: name for name, module in self._built_in.items()}
        named = names.get(module)
        is_plugin = named is not None and sys.modules[plugin.__module__].PLUGIN is plugin
        return named if is_plugin else None

    def _entry_points(self) -> EntryPoints:
        return _installed(tuple(sys.path), self.entry_point_group)

    def _module_of(self, name: str) -> str | None:
        """Return a built-in's module, or None;

        if its file has another name, all are searched.
        """
        if "_built_in" not in self.__dict__ and name.isidentifier():
            for folder in self._folders:
                if _name_given(f"{folder}/{name}.py", name) == name:
                    return name
        return self._built_in.get(name)

    @cached_property
    def _folders(self) -> list[str]:
        folders = getattr(import_module(self.package), "__path__", None)
        if folders is None:
            raise InternalError(f"{self.package} is not a package")
        return list(folders)

    @cached_property
    def _built_in(self) -> dict[str, str]:
        modules = {}
        for folder in self._folders:
            for file in os.listdir(folder):
                module, ending = paths.splitext(file)
                name = _name_given(f"{folder}/{file}", module) if ending == ".py" else None
                if name is not None:
                    modules[name] = module
        return modules


def _name_given(path: str, module: str) -> str | None:
    """Return the name a file's plug-in has, or None."""
    try:
        text = read_regular(path).decode()
    except OSError:
        return None
    return (plugin_files.name_said(text) or module) if _gives_plugin(text) else None


def _gives_plugin(source: str) -> bool:
    _, *behind = f"\n{source}".split(f"\n{_PLUGIN}")
    return any(not (rest[:1].isalnum() or rest[:1] == "_") for rest in behind)


@cache
def _installed(path: tuple[str, ...], group: str) -> EntryPoints:
    """Return what packages on a path register; kept, as reading is slower than a compile."""
    from importlib.metadata import entry_points

    return entry_points(group=group)


@cache
def _packages(path: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    from importlib.metadata import distributions

    packages = {
        (one.name, one.version)
        for one in distributions()
        if any(point.group.startswith(_GROUPS) for point in one.entry_points)
    }
    return tuple(sorted(packages))


def _same(one: str, other: str) -> bool:
    return paths.realpath(one) == paths.realpath(other)


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
