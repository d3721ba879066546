"""Recognises a framework's file by its content, and reads it as a job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import path as paths
from typing import Any

from yantra.base.documents import parse_other_yaml, read_text
from yantra.base.errors import ConfigError
from yantra.base.notes import note, notes_to
from yantra.base.open_values import Open
from yantra.base.shell import Word, beside, commands_of, settled, texts_of, written_files
from yantra.workloads.frameworks import deepspeed, hugging_face, nemo, torchtitan
from yantra.workloads.frameworks.hf_starts import (
    BATCH,
    MODEL,
    arguments,
    ranks_of,
    ranks_of_launch,
    text_of,
)
from yantra.workloads.frameworks.said import Said, sizes_of
from yantra.workloads.models import megatron

_TOML = re.compile(r"^\[[\w.\"]+\]\s*(#.*)?$", re.MULTILINE)
_CONFIG_FILE = re.compile(r"--config-file[ =](\S+\.yaml)")
_ARGUMENTS_BESIDE = re.compile(
    r"(?:accelerate launch|torchrun|deepspeed|\btrl)\b[^\n#]*(?:\\\n[^\n#]*)*--config[ =]\S+\.ya?ml"
    r"|llamafactory-cli train \S+\.ya?ml"
)
"""Launches whose arguments are in a YAML file."""
_IN_YAML = re.compile(rf"^{MODEL}:", re.MULTILINE)
_OF_A_TRAINER = re.compile(
    rf"\bswift (?:sft|pt)\b|--{MODEL}\b|--{BATCH}\b|--{BATCH.replace('_', '-')}\b"
)
_MAPPING = re.compile(
    r"^(trainer|train|ddp):|model_name_or_path|train_(micro_)?batch_size|zero_optimization",
    re.MULTILINE,
)
_HYDRA = re.compile(r"megatron_\w+\.py\b[^#]*?\s\+{0,2}(trainer|model)\.\w+=", re.DOTALL)
_TITAN = re.compile(r"--job\.config[_-]file")
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
        parts = [part for part in name.split("/") if part not in ("", ".", "~")]
        for at in range(max(len(parts) - 1, 1)):  # a path of another machine ends as one here
            tail = name if at == 0 else "/".join(parts[at:])
            if found := self._above(tail):
                if at:
                    note(f"{name} is not there; read is {found}")
                return read_text(found)
        return read_text(paths.join(self._folder, name))

    def _above(self, name: str) -> str:
        above = paths.abspath(self._folder)
        while not paths.isfile(paths.join(above, name)) and above != paths.dirname(above):
            above = paths.dirname(above)
        found = paths.join(above, name)
        return found if paths.isfile(found) else ""


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
        return torchtitan.read(text, where, files=files)
    if _HYDRA.search(seen):
        return _of_hydra(text, where, files)
    if _TITAN.search(seen) and not _TOML.search(text):
        return _of_titan(text, where, files)
    is_script = _IN_YAML.search(text) is None
    if is_script and (_OF_A_TRAINER.search(seen) or _ARGUMENTS_BESIDE.search(seen)):
        for name, one in written_files(text).items():
            files.setdefault(name, one.read(files))
        return hugging_face.of_script(text, where, files)
    if not _MAPPING.search(text):
        return None
    tree = parse_other_yaml(text, where)
    if nemo.is_config(tree):
        return nemo.read(tree, where)
    if hugging_face.is_arguments(tree):
        return hugging_face.of_arguments(tree, where, files)
    return hugging_face.of_json(tree, where) if hugging_face.is_deepspeed(tree) else None


def _launched(text: str, is_told: re.Pattern[str]) -> tuple[list[Word], list[Word]]:
    """The first command with an argument of a form: what starts the program, and its arguments."""
    for words in commands_of(text):
        ends = [at for at, one in enumerate(words) if re.search(r"\.py$|^torchtitan\.", one.text)]
        if ends and any(is_told.match(one.text) for one in words):
            return words[: ends[0]], settled(words[ends[0] + 1 :])
    return [], []


def _of_hydra(text: str, where: str, files: Folder) -> Said | None:
    """NeMo 1 from its program's arguments, over the configuration that they name."""
    launcher, words = _launched(text, re.compile(r"\+{0,2}(trainer|model)\.\w"))
    given, _ = arguments(words)
    name = str(given.get("config_name", "megatron_gpt_config")).removesuffix(".yaml")
    place = f"{given.get('config_path', 'conf')}/{name}.yaml"
    found = next((one for one in (place, f"{paths.basename(paths.dirname(place))}/{name}.yaml",
                  f"conf/{name}.yaml") if text_of(one, files) is not None), "")  # fmt: skip
    tree = parse_other_yaml(files[found], found) if found else {"name": name}
    tree = {"trainer": {}, "model": {}} | (tree if isinstance(tree, dict) else {})
    for word in words:
        path, equals, value = word.text.lstrip("+").partition("=")
        if equals and not path.startswith(("-", "~")) and not word.doubt:
            _put(tree, path.split("."), parse_other_yaml(value or "null", f"{where}: {path}"))
    if not words:
        return None
    return nemo.read(tree, where, ranks_of(arguments(launcher)[0]))


def _put(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        inner = tree.get(name)
        tree[name] = tree = dict(inner) if isinstance(inner, dict) else {}
    tree[path[-1]] = value


def _of_titan(text: str, where: str, files: Folder) -> Said | None:
    """TorchTitan's TOML with what the command that names it says of its keys."""
    launcher, words = _launched(text, re.compile(r"--job\.config[_-]file"))
    given, doubts = arguments(words)
    name = given.get("job.config_file")
    if not isinstance(name, str) or "job.config_file" in doubts:
        return None
    said = {key: value for key, value in given.items() if "." in key and key not in doubts}
    return torchtitan.read(files[name], name, said, ranks_of(arguments(launcher)[0]), files)


def _of_megatron(text: str, where: str, files: Folder) -> Said:
    """Of Megatron-DeepSpeed the JSON says the sharding, unless `--zero-stage` does."""
    try:
        job, is_open = megatron.as_far_as_known(text, where), False
    except ConfigError as error:
        if "needs --vocab-size" not in error.problem:
            raise
        more = ("--padded-vocab-size", "1")
        with notes_to(lambda _text: None):  # told by the first try
            job, is_open = megatron.as_far_as_known(text, where, more), True
    plan, notes = dict(job.plan), list(job.notes)
    sizes: Any = job.model if isinstance(job.model, Open) else sizes_of(job.model)
    if is_open and not isinstance(sizes, Open):
        del sizes["vocab_size"]
        notes.append(
            "its tokenizer says the vocabulary; --set workload.model.vocab_size=N does here"
        )
    if "zero" in plan and (config := _deepspeed_config(text)):
        made = written_files(text)
        for name, one in made.items():
            files.setdefault(name, one.read(files))
        found = deepspeed.of_file(config, where, files, {}, notes)
        plan["zero"] = plan["zero"] or found.get("zero", 0)
        plan["overlap_grad_reduce"] = found.get("overlap_gradients", True)
        if found.get("offload_optimizer"):
            plan["optimizer_cpu_offload"] = True
    return Said("Megatron-LM", sizes, plan, None, job.ignored, tuple(notes))


def _deepspeed_config(text: str) -> str:
    for words in commands_of(text):
        name = next(
            (one for one in words if one.text.replace("-", "_") == "__deepspeed_config"), None
        )
        if name is not None:
            behind = words[words.index(name) + 1 :]
            return behind[0].text if behind and not behind[0].doubt else ""
    return ""
