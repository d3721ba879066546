"""Pasted models and clusters: files while a question is answered, each in a new folder, as readers
cache by path.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from shutil import rmtree
from typing import Any

from yantra.base.documents import read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.fabric import clusters
from yantra.ui.controls import OWN, Offered, names
from yantra.workloads.models import catalogue
from yantra.workloads.models.transformer import Transformer

CLUSTER, MODEL, CONFIG = "own-cluster.yaml", "own-model.yaml", "config.json"
"""File names; the last for a model in JSON."""
FIELDS = {CLUSTER: "own_cluster", MODEL: "own_model", CONFIG: "own_model"}
"""The control with each one's text."""
_JSON = re.compile(r'\s*\{\s*"')
_KINDS = {"cluster": "the file of a cluster", "model": "sizes by name, or a config.json"}


@contextmanager
def files(form: Mapping[str, str], folder: str) -> Iterator[dict[str, str]]:
    """Make `model` and `cluster` name files where the form has own texts.

    `folder` exists only during the block. Raises ConfigError for an empty text.
    """
    texts = {control: form[f"own_{control}"] for control in _KINDS if form[control] == OWN}
    for control, text in texts.items():
        if not text.strip():
            raise ConfigError(f"own_{control}", f"empty; expected {_KINDS[control]}")
    if not texts:
        yield dict(form)
        return
    os.mkdir(folder, mode=0o700)
    try:
        yield {**form, **{control: _file(control, texts[control], folder) for control in texts}}
    finally:
        rmtree(folder, ignore_errors=True)


def _file(control: str, text: str, folder: str) -> str:
    content = text.encode(errors="replace")
    is_config = control == "model" and _JSON.match(text) is not None
    name = CLUSTER if control == "cluster" else CONFIG if is_config else MODEL
    inside = os.path.join(folder, sha256(content).hexdigest()[:16])
    os.mkdir(inside, mode=0o700)
    path = os.path.join(inside, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


def without_folder(text: str, folder: str) -> str:
    if folder not in text:
        return text
    return re.sub(re.escape(os.path.join(folder, "")) + "[0-9a-f]{16}/", "", text)


def copied(asked: Any, offered: Offered) -> str:
    """Text of what is asked for, such as `{"control": "cluster", "name": "mi300x"}`.

    Raises ConfigError for a name not offered, and a model not made of sizes.
    """
    control, name = (asked.get(key) for key in ("control", "name")) if _is_form(asked) else ("", "")
    if control not in _KINDS or name not in names(offered)[control] or name == OWN:
        raise ConfigError("copy", expected_got("a model or a cluster that the page offers", asked))
    if control == "cluster":
        return read_text(clusters.path_of(name))
    if name.endswith((".yaml", ".yml", ".json")):
        return read_text(name)
    described = catalogue.described(name)
    if not isinstance(described, Transformer):
        raise ConfigError("model", f"{name} is made of blocks, not of sizes that a text may state")
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in _sizes(described).items())


def _is_form(asked: Any) -> bool:
    return isinstance(asked, dict) and all(isinstance(one, str) for one in asked.values())


def _sizes(model: Transformer) -> dict[str, Any]:
    usual = {name: getattr(Transformer, name, None) for name in Transformer.field_names}
    given = {name: getattr(model, name) for name in Transformer.field_names}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if name not in ("name", "source") and value != usual[name]
    }
