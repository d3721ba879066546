"""Recognises whose configuration a file is, and reads it into the fields of a question."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError
from yantra.rl.configurations import nemo_rl, skyrl, verl
from yantra.rl.configurations.tree import Tree, tree_of
from yantra.workloads.models.catalogue import names as model_names

_READERS = (nemo_rl, verl, skyrl)
_LEFT_OUT = re.compile(r"(meta|instruct|base|chat|hf|\.1)")


class Read(NamedTuple):
    """Fields of a question, those that the file states; `unknown` are keys not understood."""

    framework: str
    fields: dict[str, Any]
    unknown: list[str]
    assumed: dict[str, str]
    """Fields that it does not state, and why they are so."""


def read(path: str) -> Read:
    """Read a framework's configuration. Raises ConfigError for a file that is none."""
    tree = tree_of(path)
    for reader in _READERS:
        if all(key in tree for key in reader.MARKS):
            fields = {
                name: value for name, value in reader.fields(tree).items() if value is not None
            }
            if "model" in fields:
                fields["model"] = model_of(str(fields["model"]))
            return Read(reader.NAME, fields, tree.left(reader.IGNORED), tree.assumed)
    known = "; ".join(f"{one.NAME} ({', '.join(one.MARKS)})" for one in _READERS)
    raise ConfigError(path, f"is no configuration that is known; expected keys of {known}")


def model_of(name: str) -> str:
    """Return the catalogue's name of a model on Hugging Face, or the name itself."""
    wanted = _plain(name.rsplit("/", 1)[-1])
    return next((one for one in model_names() if _plain(one) == wanted), name)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", _LEFT_OUT.sub("", name.lower()))


__all__ = ["Read", "Tree", "read"]
