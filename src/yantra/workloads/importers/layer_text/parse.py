"""Reads a text workload strictly; every error names file and line.

ASTRA-sim 1.0 stops at words it does not understand, and a missing column shifts all later ones.
Here a line is a layer, columns and lines are counted, and unknown words are errors. Times and sizes
are whole numbers from 0 to 2^63 - 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got, show
from yantra.workloads.importers.layer_text.workload import (
    COLLECTIVES,
    DLRM,
    LAYER_POLICIES,
    POLICIES,
    TRANSFORMERS,
    Layer,
    Phase,
    Workload,
)

_LARGEST = 2**63 - 1
_COLUMNS = (
    "name, reserved, forward time, type, size, input-gradient time, type, size, "
    "weight-gradient time, type, size, update time"
)
_SIMAI_WORDS = frozenset({"ep", "pp", "vpp", "ga", "all_gpus", "pp_comm"})
_SIMAI = (
    "this is a workload of SimAI, which has more than ASTRA-sim 1.0's text form can say; {what}; "
    "import it with: yantra workload convert simai"
)


class _Line(NamedTuple):
    where: str
    words: list[str]


def read(path: Path) -> Workload:
    return parse(read_text(path), str(path))


def parse(text: str, name: str) -> Workload:
    """Parse a text workload; `name` is the file for errors."""
    rest = _lines(text, name)
    header = next(rest, None)
    if header is None:
        raise ConfigError(name, f"is empty; expected a keyword such as {', '.join(POLICIES)}")
    policy = _policy(header)
    count = _layer_count(next(rest, None), name)
    layers = tuple(_layer(line, policy) for line in rest)
    if len(layers) != count:
        problem = expected_got(f"{count} layers, as line 2 says", len(layers))
        raise ConfigError(name, f"{problem}; add the missing lines or correct line 2")
    return _with_parameters(header, Workload(name, text, policy, layers))


def _lines(text: str, name: str) -> Iterator[_Line]:
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.split()
        if words:
            yield _Line(f"{name}:{number}", words)


def _policy(header: _Line) -> str:
    word = header.words[0]
    if word not in POLICIES:
        hint = did_you_mean(word, POLICIES) or f"; the keywords are {', '.join(POLICIES)}"
        raise ConfigError(header.where, expected_got("a parallelisation keyword", word) + hint)
    foreign = [text for text in header.words if text.rstrip(":").lower() in _SIMAI_WORDS]
    if foreign:
        what = f"its first line gives {show(foreign[0])}"
        raise ConfigError(header.where, _SIMAI.format(what=what))
    return word


def _layer_count(line: _Line | None, name: str) -> int:
    if line is None:
        raise ConfigError(name, "ends after its first line; expected the number of layers")
    if len(line.words) != 1:
        problem = expected_got("the number of layers alone", " ".join(line.words))
        raise ConfigError(line.where, problem)
    count = _number(line.where, "number of layers", line.words[0])
    if count == 0:
        raise ConfigError(line.where, expected_got("at least 1 layer", count))
    return count


def _layer(line: _Line, policy: str) -> Layer:
    where, words = line
    wanted = 13 if policy == "HYBRID_CUSTOMIZED" else 12
    if len(words) != wanted:
        raise ConfigError(where, _wrong_columns(words, wanted, policy))
    own = None
    if wanted == 13:
        own = words[12]
        if own not in LAYER_POLICIES:
            raise ConfigError(f"{where}: column 13", _wrong_layer_policy(own))
    return Layer(
        words[0],
        _phase(where, "forward", words, 2),
        _phase(where, "input-gradient", words, 5),
        _phase(where, "weight-gradient", words, 8),
        _number(f"{where}: column 12", "update time", words[11]),
        own,
    )


def _wrong_columns(words: Sequence[str], wanted: int, policy: str) -> str:
    names = _COLUMNS + (", policy of the layer" if wanted == 13 else "")
    hint = ""
    if wanted == 12 and len(words) == 13 and words[12] in POLICIES:
        hint = "; a policy for each layer needs the keyword HYBRID_CUSTOMIZED"
    return f"{expected_got(f'{wanted} columns', len(words))} ({policy}: {names}){hint}"


def _wrong_layer_policy(word: str) -> str:
    if word in TRANSFORMERS:
        what = "a transformer's policy needs a group size, which a layer cannot give"
        return f"{what}; use the keyword {word} for the whole file"
    if word == "HYBRID_CUSTOMIZED":
        return "a layer must have a policy of its own; use one of " + ", ".join(LAYER_POLICIES)
    hint = did_you_mean(word, LAYER_POLICIES) or f"; the policies are {', '.join(LAYER_POLICIES)}"
    return expected_got("a policy", word) + hint


def _phase(where: str, phase: str, words: Sequence[str], first: int) -> Phase:
    time = _number(f"{where}: column {first + 1}", f"{phase} time", words[first])
    kind = words[first + 1]
    if kind not in COLLECTIVES:
        place = f"{where}: column {first + 2}"
        raise ConfigError(place, _wrong_communication(phase, kind))
    size = _number(f"{where}: column {first + 3}", f"{phase} size in bytes", words[first + 2])
    return Phase(time, kind, size)


def _wrong_communication(phase: str, kind: str) -> str:
    base = kind.split("_")[0]
    if "_" in kind and base in COLLECTIVES:
        return _SIMAI.format(what=f"it has the communication {show(kind)}")
    hint = did_you_mean(kind, COLLECTIVES) or f"; the types are {', '.join(COLLECTIVES)}"
    return expected_got(f"the {phase} communication", kind) + hint


def _number(where: str, what: str, word: str) -> int:
    if not (word.isascii() and word.isdigit()) or len(word) > 30 or int(word) > _LARGEST:
        problem = expected_got(f"{what}, a whole number from 0 to 2^63 - 1", word)
        raise ConfigError(where, problem)
    return int(word)


def _with_parameters(header: _Line, workload: Workload) -> Workload:
    words = _Words(header)
    layers = len(workload.layers)
    if workload.policy in DLRM:
        workload = workload._replace(last_bottom_layer=_last_bottom_layer(words, layers))
    elif workload.policy in TRANSFORMERS:
        ranks = words.labelled("model_parallel_NPU_group:")
        if ranks == 0:
            raise ConfigError(header.where, "model_parallel_NPU_group must be at least 1, got 0")
        workload = workload._replace(model_parallel_ranks=ranks)
        if workload.policy.endswith("FWD_IN_BCKWD"):
            workload = workload._replace(
                checkpoints=words.list_of_layers("checkpoints:", layers),
                initiators=words.list_of_layers("checkpoint_initiates:", layers),
            )
            _check_recomputation(header.where, workload)
    words.end(workload.policy)
    return workload


def _last_bottom_layer(words: _Words, layers: int) -> int:
    number = words.number("number of the last bottom layer (from 0)")
    if number > layers - 2:
        expected = f"the last bottom layer from 0 to {layers - 2}, with a top layer after it"
        raise ConfigError(words.where, expected_got(expected, number))
    return number


def _check_recomputation(where: str, workload: Workload) -> None:
    for layer in workload.initiators:
        at_or_below = [point for point in workload.checkpoints if point <= layer]
        if not at_or_below:
            problem = f"layer {layer} initiates a recomputation, but no checkpoint is before it"
            raise ConfigError(where, f"{problem}; add one, such as layer 0, to checkpoints")
        start = max(at_or_below)
        if start == layer:
            problem = f"layer {layer} initiates a recomputation and is a checkpoint itself"
            raise ConfigError(where, f"{problem}, so nothing is lost before it; remove one of both")
        between = [other for other in workload.initiators if start < other < layer]
        if between:
            problem = f"layers {between[0]} and {layer} both recompute from checkpoint {start}"
            raise ConfigError(where, f"{problem}; keep one, or add a checkpoint between them")


class _Words:
    def __init__(self, header: _Line) -> None:
        self.where = header.where
        self._words = header.words[1:]

    def number(self, what: str) -> int:
        return _number(self.where, what, self._take(what))

    def labelled(self, label: str) -> int:
        word = self._take(f"{label} and a number")
        if word.rstrip(":") != label.rstrip(":"):
            raise ConfigError(self.where, expected_got(label, word) + did_you_mean(word, [label]))
        return self.number(f"number after {label}")

    def list_of_layers(self, label: str, layers: int) -> tuple[int, ...]:
        length = self.labelled(label)
        if length > layers:
            raise ConfigError(
                self.where, expected_got(f"at most {layers} layers in {label}", length)
            )
        numbers = tuple(self.number(f"layer of {label}") for _ in range(length))
        for number in numbers:
            if number >= layers:
                expected = f"layers from 0 to {layers - 1} in {label}"
                raise ConfigError(self.where, expected_got(expected, number))
        return tuple(sorted(set(numbers)))

    def end(self, policy: str) -> None:
        """Raise ConfigError if words are left."""
        if self._words:
            rest = " ".join(self._words)
            raise ConfigError(self.where, f"{policy} takes nothing more here, got {show(rest)}")

    def _take(self, what: str) -> str:
        if not self._words:
            raise ConfigError(self.where, f"the line ends; expected {what}")
        return self._words.pop(0)
