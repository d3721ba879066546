"""A launch of an engine: of which model, how spread, with which options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import path as paths
from typing import Any, NamedTuple

from yantra.base.documents import parse_other_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.notes import note
from yantra.base.shell import Word, beside, commands_of, settled
from yantra.serving.commands.drafted import acceptance_of, as_vllm, drafted, of_sglang
from yantra.serving.commands.roles import BOTH, EITHER, OWN, ROLES, mapping_of, role_of
from yantra.serving.commands.table import ENGINES, PUBLISHED, Engine, Flag
from yantra.serving.commands.weights import model_of, type_of
from yantra.workloads.frameworks.checkpoints import is_named, named_in
from yantra.workloads.frameworks.hf_starts import text_of
from yantra.workloads.frameworks.recognise import Folder
from yantra.workloads.models.megatron.given import says_structure
from yantra.workloads.models.model import Model

Arguments = Sequence[tuple[str, list[Word]]]
"""Flags without their dashes, and the words behind each."""
_Started = tuple[str, Word | None, Arguments]
_LAUNCH = re.compile(
    r"\bvllm\s+serve\b|vllm\.entrypoints|vllm/vllm-openai|sglang\.launch_server|\bsglang\s+serve\b"
)
_ARRAY = re.compile(r"^#SBATCH\s+--array=(\d+)-(\d+)\s*$", re.MULTILINE)
_PER_HOST = ("node-rank", "headless", "data-parallel-start-rank", "data-parallel-address",
             "dist-init-addr", "nccl-init-addr", "master-addr", "host", "port",
             "api-server-count")  # fmt: skip
_IMAGE = re.compile(r"vllm/vllm-openai(:|@|$)")
_QUANTIZED = "quantization"
_OF_DRAFTS: Mapping[str, Mapping[str, str]] = {
    "vllm": {"spec-method": "method", "spec-model": "model", "speculative-model": "model",
             "spec-tokens": "num_speculative_tokens",
             "num-speculative-tokens": "num_speculative_tokens"},
    "sglang": {"speculative-algorithm": "", "speculative-algo": ""},
}  # fmt: skip
_SAYS = ("echo", "printf", "log", "info", "#")
"""Commands that show a launch, and start none."""
_NEXT = re.compile(r"\d?[<>|&]")


class Launch(NamedTuple):
    """`fields` are those of a plan and options of the engine; `ignored` changes no time."""

    engine: str
    model: str | Model
    replicas: int
    fields: dict[str, Any]
    ignored: tuple[str, ...] = ()


def is_launch(name: str) -> bool:
    """Whether a name is that of a file that starts an engine."""
    if name in ENGINES or name.endswith((".py", ".yaml", ".yml")) or not paths.isfile(name):
        return False
    return _LAUNCH.search(read_text(name)) is not None


def load(path: str, model: str | None = None, role: str = BOTH) -> Launch:
    """The launch in a file, of which notes say what is ignored; `model` in place of its own.

    Raises ConfigError.
    """
    with beside(Folder(path, None)):
        launch = of_text(read_text(path), path, model, role)
    if launch.ignored:
        note(f"{path}: ignored, as it changes no time: {', '.join(launch.ignored)}")
    return launch


def of_text(text: str, where: str, instead: str | None = None, role: str = BOTH) -> Launch:
    """The replica of a role, `prefill` or `decode`, or one that does both.

    Raises ConfigError for flags that are unknown, not covered or not decided by the text.
    """
    every = [
        (name, model, list(_arguments(flags)))
        for words in commands_of(text)
        if words[0].text not in _SAYS
        for name, engine in ENGINES.items()
        for model, flags in _started(words, engine)
    ]
    found = _of_role(every, role, where)
    if not found:
        starts = "vllm serve or python -m sglang.launch_server"
        raise ConfigError(where, f"expected a command that starts {starts}, got none")
    name, model, given = found[0]
    alike = [one for one in found if _is_alike(one, found[0])]
    if len(alike) < len(found):
        rest = len(found) - len(alike)
        note(f"{where}: starts others, too; read is the first, and {rest} are left out")
        found = alike
    array = _ARRAY.search(text)
    replicas = len(found) if array is None else int(array[2]) - int(array[1]) + 1
    if len(found) > 1 and any(flag in ("nnodes", "data-parallel-size-local") for flag, _ in given):
        replicas = 1  # of which each command starts one host
    return _launch(name, model, given, replicas, where, instead)


def _is_alike(one: _Started, other: _Started) -> bool:
    """Whether two commands start replicas, or hosts of one, of the same engine."""
    said = [(name, str(model), str(_of_all_hosts(given))) for name, model, given in (one, other)]
    return said[0] == said[1]


def _of_all_hosts(given: Arguments) -> Arguments:
    """Flags without those that differ from host to host of a replica."""
    return [(flag, words) for flag, words in given if flag not in _PER_HOST]


def _of_role(every: Sequence[_Started], role: str, where: str) -> list[_Started]:
    roles = [role_of(name, given, where) for name, _, given in every]
    if role == BOTH and (apart := {*roles} & {EITHER, *ROLES}):
        says = "prefill or decode" if apart == {EITHER} else " and ".join(sorted(apart - {EITHER}))
        raise ConfigError(where, f"starts engines for {says}; give it as --prefill and --decode")
    pairs = list(zip(every, roles, strict=True))
    found = [one for one, own in pairs if own == role]
    found = found or [one for one, own in pairs if own == EITHER]
    if every and not found:
        raise ConfigError(where, f"starts no engine for {role} alone")
    return found


def _started(words: list[Word], engine: Engine) -> Iterator[tuple[Word | None, list[Word]]]:
    texts = [
        word.text.partition(":")[0] if _IMAGE.match(word.text) else word.text for word in words
    ]
    for start in engine.starts:
        for at in range(len(texts) - len(start) + 1):
            if tuple(texts[at : at + len(start)]) == start:
                rest = settled(words[at + len(start) :])
                end = next((n for n, word in enumerate(rest) if _NEXT.match(word.text)), len(rest))
                rest = [word for word in rest[:end] if word.text or "uses $@," not in word.doubt]
                has_model = bool(rest) and not rest[0].text.startswith("-")
                yield (rest[0], rest[1:]) if has_model else (None, rest)
                return


class _Flags(NamedTuple):
    """What the flags of a launch say: fields, drafts, the model, and what is ignored."""

    said: dict[str, Any]
    drafts: dict[str, Any]
    ignored: list[str]
    models: list[Word]
    served: list[str]


def _launch(
    name: str,
    model: Word | None,
    given: Arguments,
    replicas: int,
    where: str,
    instead: str | None,
) -> Launch:
    read = _Flags({}, {}, [], [] if model is None else [model], [])
    for written, values in _with_files(given, where):
        _take(name, written, values, read, where)
    said, drafts = read.said, read.drafts
    if name == "sglang":
        drafts = of_sglang(given, f"{where}: --speculative-algorithm")
    if drafts:
        said |= drafted(drafts, f"{where}: --speculative-config")
    text = _model_text(read, where, instead)
    fields = {field: value for field, value in said.items() if value != ""}
    for field in ("tp", "pp", "dp", "ep"):
        if not str(fields.get(field, 1)).isdecimal():
            problem = expected_got("a whole number", fields[field])
            raise ConfigError(f"{where}: {field}", problem)
    known = instead or _known(text, read.served, where)
    fields |= _type(fields.pop(_QUANTIZED, ""), text, where)
    if "draft" in fields and (chance := acceptance_of(known, fields["draft"], where)):
        fields["acceptance"] = chance
    replicas, fields = _spread(name, fields, replicas, known)
    if name == "sglang" and drafts:
        name, fields = "vllm", as_vllm(fields, f"{where}: --speculative-algorithm")
    return Launch(name, known, replicas, fields, tuple(read.ignored))


def _take(name: str, written: str, values: list[Word], read: _Flags, where: str) -> None:
    """Add what a flag says. Raises ConfigError."""
    engine = ENGINES[name]
    by_name = {one: flag for flag in engine.flags for one in (flag.name, *flag.short)}
    flag, place = _whole_name(written, engine), f"{where}: --{written}"
    if flag in engine.model and values:
        read.models[:] = values[:1]
    elif flag in by_name:
        own = by_name[flag]
        if doubt := next((word.doubt for word in values if word.doubt), ""):
            note(f"{place}: {doubt}; taken as usual (--set {own.field}=VALUE)")
            return
        field = own.name if own.name == _QUANTIZED else own.field
        read.said[field] = _value(own, values, place)
    elif flag.startswith("speculative-config") and name == "vllm":
        read.drafts.update(mapping_of(flag.partition(".")[2].replace("-", "_"), values, place))
    elif flag in engine.left_out:
        note(f"{place}: {engine.left_out[flag]}")
    elif flag in engine.refused:
        raise ConfigError(place, engine.refused[flag])
    elif flag in _OF_DRAFTS[name]:
        read.drafts.update({_OF_DRAFTS[name][flag]: values[0].text} if values else {})
    elif flag.partition(".")[0] in OWN:
        return
    elif _is_ignored(flag, engine):
        read.ignored.append(f"--{flag}")
        if flag == "served-model-name":
            read.served.extend(word.text for word in values if not word.doubt)
    elif (hint := did_you_mean(flag, by_name)) or says_structure(flag):
        raise ConfigError(place, f"not a flag that is known here; it may change times{hint}")
    else:
        note(f"{place}: not a flag that is known here; left out")


def _model_text(read: _Flags, where: str, instead: str | None) -> str:
    """The id or path of the model; `instead` where the launch leaves it open."""
    model = read.models[0] if read.models else None
    if instead is not None and (model is None or model.doubt):
        return instead
    if model is not None and not model.doubt:
        model = Word(model.text.strip("'\""))
    if model is None or (model.doubt and not is_named(model.text, model.doubt)) or not model.text:
        why = "needs a model" if model is None or not model.doubt else f"model: {model.doubt}"
        raise ConfigError(where, f"{why}; give it with --model")
    return model.text


def _known(text: str, served: list[str], where: str) -> str | Model:
    """The model of a path, or else of the name under which it is served."""
    try:
        return model_of(text, where)
    except ConfigError:
        for name in served:
            if (named := named_in(name, where)) is not None:
                note(f"{where}: {text} taken as the model that it is served as, {name}")
                return named.model.name
        raise


def _type(said: str, model: str, where: str) -> dict[str, str]:
    """The type of weights by `--quantization`, else by the id of the model."""
    kind = type_of(model, where)
    if said not in ("", PUBLISHED):
        kind = said
    elif said == PUBLISHED and not kind:
        problem = "the model's id does not say its bits; give --set weight_dtype=int4 or dtype=fp8"
        raise ConfigError(f"{where}: --{_QUANTIZED}", problem)
    return {"weight_dtype" if kind == "int4" else "dtype": kind} if kind else {}


def _with_files(given: Arguments, where: str) -> Iterator[tuple[str, list[Word]]]:
    """The flags, with those of vLLM's `--config FILE` before those of the command."""
    files = Folder(where, None)
    for name, values in given:
        if name == "config" and values and values[0].text.endswith((".yaml", ".yml")):
            place = f"{where}: --config {values[0].text}"
            if (text := text_of(values[0].text, files)) is None:
                note(f"{place}: is not there; taken as empty (--set tp=N, ... says what it does)")
                continue
            tree = parse_other_yaml(text, place)
            if not isinstance(tree, dict):
                raise ConfigError(place, expected_got("flags by name", tree))
            yield from _flags_of(tree)
    yield from (one for one in given if one[0] != "config")


def _flags_of(tree: Mapping[str, Any]) -> Iterator[tuple[str, list[Word]]]:
    for name, value in tree.items():
        if value is False or value is None:
            continue
        many = value if isinstance(value, list) else [] if value is True else [value]
        yield str(name).replace("_", "-"), [Word(str(one)) for one in many]


def _whole_name(flag: str, engine: Engine) -> str:
    """The flag that a beginning of one is, as argparse takes it, where it is of one alone."""
    first = flag.partition(".")[0]
    names = {one for known in engine.flags for one in (known.name, *known.short)}
    names |= {*engine.model, *engine.refused, *OWN, *engine.ignored.split()}
    if first in names or _is_ignored(flag, engine) or len(first) < 5:
        return flag
    found = {one for one in names if one.startswith(first)}
    return found.pop() if len(found) == 1 and "." not in flag else flag


def _spread(
    name: str, fields: dict[str, Any], replicas: int, model: str | Model
) -> tuple[int, dict[str, Any]]:
    """Experts and replicas as the engine spreads them."""
    tp, dp = int(fields.get("tp", 1)), int(fields.get("dp", 1))
    if name == "sglang":
        fields.setdefault("overlap", "on" if int(fields.get("pp", 1)) == 1 else "off")
        if fields.pop("dp_attention", "") and dp > 1:
            fields["tp"] = tp // dp
        elif dp > 1:  # whole copies behind its own router
            replicas *= int(fields.pop("dp"))
    elif fields.pop("expert_parallel", ""):
        fields["ep"] = tp * dp
    elif dp > 1 and _has_experts(model):
        fields["etp"] = tp * dp
    return replicas, fields


def _has_experts(model: str | Model) -> bool:
    from yantra.workloads.models.catalogue import find
    from yantra.workloads.models.experts import experts_of

    return experts_of(find(model) if isinstance(model, str) else model) is not None


def _arguments(words: Iterable[Word]) -> Iterator[tuple[str, list[Word]]]:
    name, behind = "", []
    for word in words:
        if not re.match(r"--?[A-Za-z]", word.text):
            behind.append(word)
            continue
        if name:
            yield name, behind
        name, equals, value = word.text.lstrip("-").partition("=")
        name, behind = name.replace("_", "-"), [Word(value, word.doubt)] if equals else []
    if name:
        yield name, behind


def _value(flag: Flag, values: list[Word], place: str) -> str:
    if flag.on is not None:
        return flag.on
    if len(values) != 1:
        raise ConfigError(place, f"expected one value, got {len(values)}")
    text = values[0].text
    if flag.values is None:
        return text
    if text not in flag.values:
        known = f"one of {', '.join(flag.values)}"
        raise ConfigError(place, expected_got(known, text) + did_you_mean(text, flag.values))
    return flag.values[text]


def _is_ignored(flag: str, engine: Engine) -> bool:
    names, flag = engine.ignored.split(), flag.partition(".")[0]
    return any(flag == one or (one[-1] == "*" and flag.startswith(one[:-1])) for one in names)
