"""A model by its name, or by the file that describes it.

| given | is |
|---|---|
| `llama3-70b`, `Llama-3-70B`, `meta-llama/Meta-Llama-3-70B` | a model of the zoo |
| `Qwen/Qwen3-8B-Base`, `qwen3-8b` | a published checkpoint by its id, or that without its owner |
| `mine.py`, `mine.py:small` | a Python file that ends with `PLUGIN = <model>`, or one of several |
| `config.json`, a folder with one | a Hugging Face config |
| `mine.yaml`, `mine.json` | the sizes of a transformer by name |
"""

from __future__ import annotations

from os import path as paths
from pathlib import Path

from yantra.base.errors import ConfigError, did_you_mean
from yantra.workloads.models import description, hf, hub, zoo
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer

_DATA = (".json", ".yaml", ".yml")


def names() -> tuple[str, ...]:
    return zoo.names()


def is_known(name: str) -> bool:
    """Whether a name or id is that of a model of the zoo or hub, and of no file."""
    return (zoo.is_known(name) or hub.is_known(name)) and not paths.exists(name)


def find(name: str, where: str = "model") -> Model:
    """A model by its name or file; `where` is the field for errors."""
    return model_of(described(name, where))


def described(name: str, where: str = "model") -> Transformer | Model:
    """What `find` makes a model of: sizes, or a model already."""
    if name in zoo.names() or (zoo.is_known(name) and not paths.exists(name)):
        return zoo.get(name)
    if is_known(name) and (found := hub.find(name)) is not None:
        return found.model
    path, _, inside = name.partition(".py:")
    if inside or name.endswith(".py"):
        return _of_python(path + ".py" if inside else name, inside)
    if name.endswith(_DATA) or paths.isdir(name):
        return _of_data(Path(name))
    return zoo.get(name, where, hub.short_names())


def _of_data(path: Path) -> Transformer | Model:
    if paths.isdir(path) or (path.suffix == ".json" and hf.is_config(path)):
        return hf.load(path)
    return description.load(path)


def _of_python(path: str, name: str) -> Transformer | Model:
    models = {model.name: model for model in zoo.families.of_file(path)}
    if not name and len(models) == 1:
        return next(iter(models.values()))
    if name in models:
        return models[name]
    listed = ", ".join(f"{path}:{known}" for known in models)
    hint = did_you_mean(name, models) if name else ""
    raise ConfigError(path, f"has several models; expected one of {listed}{hint}")
