"""Recognises a framework's file by its content, and reads it as a job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import path as paths
from typing import Any

from yantra.base.documents import parse_other_yaml, read_text
from yantra.base.notes import notes_to
from yantra.base.shell import beside, commands_of, texts_of, written_files
from yantra.workloads.frameworks import deepspeed, hugging_face, nemo, torchtitan
from yantra.workloads.frameworks.hf_starts import BATCH, MODEL, ranks_of_launch
from yantra.workloads.frameworks.said import Said, sizes_of
from yantra.workloads.models import megatron

_TOML = re.compile(r"^\[[\w.\"]+\]\s*(#.*)?$", re.MULTILINE)
_CONFIG_FILE = re.compile(r"--config-file[ =](\S+\.yaml)")
_ARGUMENTS_BESIDE = re.compile(
    r"(?:accelerate launch|torchrun|deepspeed|\btrl)\b[^\n#]*(?:\\\n[^\n#]*)*--config[ =]\S+\.ya?ml"
    r"|llamafactory-cli train \S+\.ya?ml"
)
"""Launches whose arguments are in a YAML file."""
_OF_A_TRAINER = re.compile(rf"--{MODEL}\b|--{BATCH}\b|--{BATCH.replace('_', '-')}\b")
_MAPPING = re.compile(
    r"^(trainer|train|ddp):|model_name_or_path|train_(micro_)?batch_size|zero_optimization",
    re.MULTILINE,
)
_MEGATRON = re.compile(r"--num-layers[\s=:]|^MODEL_ARGS:", re.MULTILINE)


_CONFIG = "deepspeed_config"


class Folder(dict[str, str]):
    """Files beside the one that is read, or from a folder above, by their names in its text."""

    def __init__(self, where: str, given: Mapping[str, str] | None) -> None:
        super().__init__(given or {})
        self._folder, self._is_given = paths.dirname(where), given is not None

    def __missing__(self, name: str) -> str:
        if self._is_given:
            raise KeyError(name)
        own = paths.join(self._folder, name)
        above = paths.abspath(self._folder)
        while not paths.isfile(paths.join(above, name)) and above != paths.dirname(above):
            above = paths.dirname(above)
        found = paths.join(above, name)
        return read_text(found if paths.isfile(found) else own)


def read(
    text: str, where: str, files: Mapping[str, str] | None = None, *, quiet: bool = False
) -> dict[str, Any] | None:
    """A framework's file as a job file's tree; None for anything else.

    `files` are those beside it, None for the disk. Raises ConfigError with the line or argument.
    """
    if quiet:
        with notes_to(lambda _text: None):
            return read(text, where, files)
    folder = Folder(where, files)
    with beside(folder):
        said = _said(text, where, folder)
    return None if said is None else said.tree(where)


def _said(text: str, where: str, files: Folder) -> Said | None:
    seen = texts_of(text)
    if _MEGATRON.search(seen):
        return _of_megatron(text, where, files)
    if (found := _CONFIG_FILE.search(seen)) is not None:
        name = found[1]
        tree = parse_other_yaml(files[name], name)
        return nemo.read(tree, name, ranks_of_launch(text)) if nemo.is_config(tree) else None
    if _TOML.search(text):
        return torchtitan.read(text, where)
    if _OF_A_TRAINER.search(seen) or _ARGUMENTS_BESIDE.search(seen):
        return hugging_face.of_script(text, where, files)
    if not _MAPPING.search(text):
        return None
    tree = parse_other_yaml(text, where)
    if nemo.is_config(tree):
        return nemo.read(tree, where)
    if hugging_face.is_arguments(tree):
        return hugging_face.of_arguments(tree, where, files)
    return hugging_face.of_json(tree, where) if hugging_face.is_deepspeed(tree) else None


def _of_megatron(text: str, where: str, files: Folder) -> Said:
    """Of Megatron-DeepSpeed the JSON says the sharding, unless `--zero-stage` does."""
    job = megatron.from_text(text, where)
    plan, notes = dict(job.plan), list(job.model.notes)
    if "zero" in plan and (config := _deepspeed_config(text)):
        made = written_files(text)
        for name, one in made.items():
            files.setdefault(name, one.read(files))
        found = deepspeed.of_file(config, where, files, {}, notes)
        plan["zero"] = plan["zero"] or found.get("zero", 0)
        plan["overlap_grad_reduce"] = found.get("overlap_gradients", True)
        if found.get("offload_optimizer"):
            plan["optimizer_cpu_offload"] = True
    return Said("Megatron-LM", sizes_of(job.model), plan, None, job.ignored, tuple(notes))


def _deepspeed_config(text: str) -> str:
    for words in commands_of(text):
        name = next(
            (one for one in words if one.text.replace("-", "_") == "__deepspeed_config"), None
        )
        if name is not None:
            behind = words[words.index(name) + 1 :]
            return behind[0].text if behind and not behind[0].doubt else ""
    return ""
