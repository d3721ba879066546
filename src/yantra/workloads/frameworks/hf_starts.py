"""How a script starts a training program of Hugging Face's: on what, and with which arguments.

Sources: huggingface/accelerate, commands/launch.py and commands/config/config_args.py;
huggingface/trl, `TrlParser` (`--config`); hiyouga/LLaMA-Factory, `llamafactory-cli train`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from yantra.base.documents import parse_other_yaml
from yantra.base.errors import ConfigError, expected_got
from yantra.base.open_values import Open
from yantra.base.shell import Word, commands_of, settled

MODEL = "model_name_or_path"
Arguments = dict[str, Any]
_LAUNCH = {"num_gpus": "gpus", "nproc_per_node": "gpus", "num_nodes": "nodes", "nnodes": "nodes",
           "num_processes": "ranks", "n_gpu": "gpus", "gpus": "gpus"}  # fmt: skip
_TRAINERS = (("llamafactory-cli", "train"), ("trl", "sft"), ("swift", "sft"), ("swift", "pt"))
_CALLED = ("model_name", "model_path", "model", "model_id", "model_id_or_path", "base_model",
           "pretrained_model_name_or_path", "model_dir", "base_model_name_or_path",
           "model_name_or_dir", "base_model_path", "model_id_or_dir")  # fmt: skip
"""Names of the model in programs of their own."""
BATCH = "per_device_train_batch_size"
_BATCHES = (BATCH, "train_micro_batch_size_per_gpu", "micro_batch_size")
_NOT_SFT = re.compile(
    r"(?P<pairs>dpo|orpo|kto|simpo|cpo|tpo)|(?P<reward>reward\w*|rm)|(?P<bits>qlora)"
    r"|(?P<rollouts>ppo|grpo|rloo|gkd|nash|online)|(?P<nothing>eval\w*|generat\w*|infer\w*|chat\w*"
    r"|merge\w*|export\w*)"
)
_WHY = {
    "pairs": "losses over pairs of answers are not covered (yantra rl)",
    "bits": "weights in 4 bits beside adapters are not covered",
    "reward": "models of rewards are not covered",
    "rollouts": "training with rollouts is not covered here (yantra rl)",
    "nothing": "trains nothing",
}
_YAML = (".yaml", ".yml")
_STAGE = re.compile(r"(?:zero|stage|z|_s)[-_]?(?:stage)?[-_]?([0-3])(?!\d)", re.IGNORECASE)
_SHARDING = {"FULL_SHARD": 3, "1": 3, "SHARD_GRAD_OP": 2, "2": 2, "NO_SHARD": 0, "3": 0}
_DTYPES = {"bf16": "bf16", "fp16": "fp16", "no": "fp32", "fp8": "fp8"}


class Start(NamedTuple):
    """Arguments of a program with what is in doubt of them, and the launcher's before it."""

    program: str
    given: Arguments
    doubts: Mapping[str, str]
    launcher: Arguments


def starts_of(text: str, where: str, files: Mapping[str, str]) -> Iterator[Start]:
    """The programs that a script trains a model with. Raises ConfigError."""
    for words in commands_of(text):
        texts = [word.text for word in words]
        if texts[0] in ("echo", "printf"):
            continue
        if (at := _program(texts)) is None:
            if texts[0].endswith(".sh") and any(_names_model(one) for one in texts):
                problem = f"gives arguments to {texts[0]}, which is not read; expected its command"
                raise ConfigError(where, problem)
            continue
        given, doubts = arguments(settled(words[at + 1 :]))
        config = given.get("config")
        if texts[at - 1 : at + 1] in map(list, _TRAINERS) and texts[at + 1 : at + 2]:
            config = texts[at + 1] if texts[at + 1].endswith(_YAML) else config
        elif texts[at].endswith(".py") and texts[at + 1 : at + 2] and "config" not in given:
            name = texts[at + 1]  # of the alignment handbook and of trl's examples
            config = name if name.endswith(_YAML) and text_of(name, files) is not None else config
        if isinstance(config, str) and config.endswith(_YAML):
            tree = parse_other_yaml(files[config], f"{where}: {config}")
            given = (tree if isinstance(tree, dict) else {}) | given
        is_trainer = texts[at - 1] == "swift" or any(map(given.__contains__, _BATCHES))
        for name in _CALLED if MODEL not in given and is_trainer else ():
            if name in given:
                given[MODEL] = given.pop(name)
                doubts |= {MODEL: doubts[name]} if name in doubts else {}
                break
        if MODEL in given or BATCH in given:
            yield Start(texts[at], given, doubts, arguments(words[:at])[0])


def refuse_others(program: str, where: str, but: tuple[str, ...] = ()) -> None:
    """Raises ConfigError for a program whose name says that it trains otherwise."""
    name = program.rpartition("/")[2].rpartition(".")[0] or program.rpartition(".")[2]
    for word in re.split(r"[_.-]", name.lower()):
        found = _NOT_SFT.fullmatch(word)
        if found is not None and found.lastgroup not in but:
            place = where if program == where else f"{where}: {program}"
            raise ConfigError(place, _WHY[found.lastgroup or ""])


def _names_model(word: str) -> bool:
    return word == f"--{MODEL}" or word.startswith(f"--{MODEL}=")


def _program(texts: list[str]) -> int | None:
    """Where the program is: the last before the model's name, else the first."""
    end = next((at for at, one in enumerate(texts) if _names_model(one)), len(texts))
    found = [at for at in range(min(end, len(texts))) if _is_program(texts, at)]
    if not found:
        return None
    return found[-1] if end < len(texts) else found[0]


def _is_program(texts: list[str], at: int) -> bool:
    if at and (texts[at - 1], texts[at]) in _TRAINERS:
        return True
    is_module = at > 0 and texts[at - 1] == "-m" and not texts[at].startswith("torch.")
    return texts[at].endswith(".py") or (is_module and not texts[at].startswith("accelerate"))


def arguments(words: list[Word]) -> tuple[Arguments, dict[str, str]]:
    """By name with underscores; those in doubt, and why."""
    given: Arguments = {}
    doubts: dict[str, str] = {}
    name = ""
    for word in _until_next(words):
        if word.text.startswith("--"):
            name, equals, value = word.text[2:].partition("=")
            name = name.replace("-", "_")
            given[name] = value if equals else True
        elif name and given[name] is True:
            given[name] = word.text
        if word.doubt and name:
            doubts[name] = word.doubt
    return given, doubts


def _until_next(words: list[Word]) -> Iterator[Word]:
    for word in words:
        if word.text[:1] in ("&", "|", ">", "<") or word.text[:2] == "2>":
            return
        if word.text or "uses $@," not in word.doubt:
            yield word


def ranks_of(launcher: Mapping[str, Any]) -> int | None:
    """The devices of a launcher's arguments; None where they say no number."""
    found = {own: int(launcher[key]) for key, own in _LAUNCH.items() if is_whole(launcher.get(key))}
    if "ranks" in found:
        return found["ranks"]
    if isinstance(hosts := launcher.get("include"), str) and ":" in hosts:
        return sum(len(host.partition(":")[2].split(",")) for host in hosts.split("@"))
    return found["gpus"] * found.get("nodes", 1) if "gpus" in found else None


def ranks_of_launch(text: str) -> int | None:
    """The devices on which a script's first launch of a Python program starts; None if not said."""
    for words in commands_of(text):
        at = next((n for n, word in enumerate(words) if word.text.endswith(".py")), None)
        if at is not None:
            return ranks_of(arguments(words[:at])[0])
    return None


def sharded(
    launcher: Mapping[str, Any], where: str, files: Mapping[str, str], notes: list[str]
) -> Arguments:
    """What `accelerate launch` says of a plan: `ranks`, `zero`, `dtype`, `offload_optimizer`, and
    `deepspeed`, a file. Raises ConfigError."""
    config = launcher.get("config_file")
    tree: Any = {}
    if isinstance(config, str):
        text = text_of(config, files)
        if text is None:
            return _around(config, launcher, where, notes)
        tree = parse_other_yaml(text, f"{where}: {config}")
    tree = tree if isinstance(tree, dict) else {}
    deepspeed, fsdp = (mapping_of(tree.get(f"{kind}_config")) for kind in ("deepspeed", "fsdp"))
    said = {**deepspeed, **fsdp, **tree, **launcher}
    found: Arguments = {}
    if is_whole(said.get("num_processes")):
        found["ranks"] = int(said["num_processes"])
    if is_whole(said.get("zero_stage")):
        found["zero"] = int(said["zero_stage"])
    if isinstance(said.get("deepspeed_config_file"), str):
        found["deepspeed"] = said["deepspeed_config_file"]
    if (said.get("offload_param_device") or "none") != "none":
        from yantra.workloads.frameworks.deepspeed import WEIGHTS_STAY

        notes.append(f"offload_param_device: {WEIGHTS_STAY}")
    if "offload_optimizer_device" in said:
        found["offload_optimizer"] = said["offload_optimizer_device"] not in (None, "none")
    if fsdp or "use_fsdp" in said:
        found["zero"] = _of_fsdp(said, where)
    if (kind := _DTYPES.get(str(said.get("mixed_precision")))) is not None:
        found["dtype"] = kind
    return found


def _around(config: str, launcher: Mapping[str, Any], where: str, notes: list[str]) -> Arguments:
    """Of accelerate's configuration that is not there, by its name."""
    if str(launcher.get("num_processes")) == "1":
        return {"zero": 0}
    name = config.rpartition("/")[2].lower()
    kind = re.search(r"(fsdp)|(ddp|multi_?gpu|single)", name)
    if kind is None or _STAGE.search(name):
        return by_name(config, where, notes)
    told = "whole shards" if kind[1] else "copies"
    notes.append(f"{config} is not there; taken as {told}, by its name")
    return {"zero": 3 if kind[1] else 0}


def _of_fsdp(said: Mapping[str, Any], where: str) -> int:
    kind = str(said.get("fsdp_sharding_strategy", said.get("fsdp_reshard_after_forward", 1)))
    kind = {"true": "1", "false": "2"}.get(kind.lower(), kind)
    if kind not in _SHARDING:
        known = f"one of {', '.join(_SHARDING)}"
        raise ConfigError(f"{where}: fsdp_sharding_strategy", expected_got(known, kind))
    return _SHARDING[kind]


def by_name(config: str, where: str, notes: list[str]) -> Arguments:
    """The ZeRO stage that the name of a file says which is not there. Raises ConfigError."""
    name = config.rpartition("/")[2]
    if (found := _STAGE.search(name)) is None:
        problem = "cannot be read, and its name says no ZeRO stage; put it beside the script"
        return {"zero": Open.of(ConfigError(f"{where}: {config}", problem))}
    offloads = re.search(r"(?<!no.)offload", name) is not None
    told = " with the optimizer's state in the host's memory" if offloads else ""
    notes.append(f"{config} is not there; taken as ZeRO stage {found[1]}{told}, by its name")
    return {"zero": int(found[1]), "offload_optimizer": offloads}


def text_of(name: str, files: Mapping[str, str]) -> str | None:
    """A file that a script names, None where there is none."""
    try:
        return files[name]
    except (ConfigError, KeyError):
        return None


def mapping_of(value: object) -> Mapping[str, Any]:
    """A section of a file; empty for what is none."""
    return value if isinstance(value, Mapping) else {}


def is_on(value: object) -> bool:
    """Whether a switch's value turns it on; argparse takes several words."""
    return str(value).lower() in ("true", "1", "yes")


def is_whole(value: object) -> bool:
    return str(value).isdecimal()
