"""A model by its name, or by the file that describes it.

| given | is |
|---|---|
| `llama3-70b` | a model of the zoo |
| `mine.py`, `mine.py:small` | a Python file that ends with `PLUGIN = <model>`, or one of several |
| `config.json`, a folder with one | a Hugging Face config |
| `mine.yaml`, `mine.json` | the sizes of a transformer by name |
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.util import module_from_spec, spec_from_file_location
from os import path as paths
from pathlib import Path
from typing import Any

from yantra.errors import ConfigError, did_you_mean, expected_got
from yantra.workloads import description, hf, zoo
from yantra.workloads.assemble import model_of
from yantra.workloads.model import Model
from yantra.workloads.transformer import Transformer

_DATA = (".json", ".yaml", ".yml")


def names() -> tuple[str, ...]:
    """Return the names of the zoo."""
    return zoo.names()


def find(name: str, where: str = "model") -> Model:
    """Return a model by its name or file; `where` is the field an unknown one is reported at."""
    return model_of(described(name, where))


def described(name: str, where: str = "model") -> Transformer | Model:
    """Return what `find` makes a model of: sizes, or a model already."""
    if name in zoo.names():
        return zoo.get(name)
    path, _, inside = name.partition(".py:")
    if inside or name.endswith(".py"):
        return _of_python(Path(path + ".py" if inside else name), inside)
    if name.endswith(_DATA) or paths.isdir(name):
        return _of_data(Path(name))
    return zoo.get(name, where)


def _of_data(path: Path) -> Transformer | Model:
    """Read a Hugging Face config, recognised by its `model_type`, or sizes by name."""
    if paths.isdir(path) or (path.suffix == ".json" and hf.is_config(path)):
        return hf.load(path)
    return description.load(path)


def _of_python(path: Path, name: str) -> Transformer | Model:
    """Return the model of a Python file, that of this name if it has several."""
    if not paths.isfile(path):
        raise ConfigError(str(path), "no such file; expected a Python file, or a model's name")
    spec = spec_from_file_location(f"model_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError(
            str(path), f"cannot be imported: {type(error).__name__}: {error}"
        ) from error
    models = _models(getattr(module, "PLUGIN", None), path)
    if not name and len(models) == 1:
        return next(iter(models.values()))
    if name in models:
        return models[name]
    listed = ", ".join(f"{path}:{known}" for known in models)
    hint = did_you_mean(name, models) if name else ""
    raise ConfigError(str(path), f"has several models; expected one of {listed}{hint}")


def _models(plugin: Any, path: Path) -> dict[str, Transformer | Model]:
    given: Iterable[Any] = plugin if isinstance(plugin, tuple | list) else (plugin,)
    models = {getattr(model, "name", ""): model for model in given}
    if not models or not all(isinstance(model, Transformer | Model) for model in models.values()):
        expected = "a last line PLUGIN = <a Model or Transformer>, or a tuple of them"
        raise ConfigError(str(path), expected_got(expected, plugin))
    return models
