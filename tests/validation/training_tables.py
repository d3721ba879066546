"""The networks of ASTRA-sim 1.0's tutorials (github.com/astra-sim/tutorials) as text workloads, ns
a layer and phase. GPT-3: three layers, batch 16, 2048 tokens, 12288 wide, over 16 ranks.
"""

from __future__ import annotations

from collections.abc import Iterator

_WIDTH = 12288
_VOCABULARY = 36000
_SPLIT = 16
_ACTIVATIONS = 2 * 16 * 2048 * _WIDTH
_PROJECTION_NS = 9072581  # a matrix of 12288 x 12288
_ATTENTION_NS = 756048
_NORM_NS = 11813

# Of each layer of VGG-16: its time and its bytes of weights.
_VGG16 = {
    "block1_conv1": (3429, 3584),
    "block1_conv2": (73143, 73856),
    "block2_conv1": (36571, 147712),
    "block2_conv2": (73143, 295168),
    "block3_conv1": (36571, 590336),
    "block3_conv2": (73143, 1180160),
    "block3_conv3": (73143, 1180160),
    "block4_conv1": (36571, 2360320),
    "block4_conv2": (73143, 4719616),
    "block4_conv3": (73143, 4719616),
    "block5_conv1": (18286, 4719616),
    "block5_conv2": (18286, 4719616),
    "block5_conv3": (18286, 4719616),
    "fc1": (4063, 205529088),
    "fc2": (663, 33562624),
    "predictions": (162, 8194000),
}

Row = tuple[str, int, tuple[str, int], tuple[str, int], tuple[str, int]]
_NONE = ("NONE", 0)


def vgg16(scale: float) -> str:
    rows = [(name, ns, _NONE, _NONE, ("ALLREDUCE", size)) for name, (ns, size) in _VGG16.items()]
    return _text("DATA", rows, scale)


def gpt3(scale: float) -> str:
    head = (
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 16 "
        "checkpoints: 3 0 9 18 checkpoint_initiates: 3 26 17 8"
    )
    rows = [row for layer in (1, 2, 3) for row in _transformer_layer(layer)]
    reduced = ("ALLREDUCE", _ACTIVATIONS)
    gathered = ("ALLGATHER", 2 * 2048 * _VOCABULARY)
    weights = ("ALLREDUCE", 2 * _WIDTH * _VOCABULARY // _SPLIT)
    rows.append(("projection", 26579826, gathered, reduced, weights))
    return _text(head, rows, scale)


def _transformer_layer(number: int) -> Iterator[Row]:
    reduced = ("ALLREDUCE", _ACTIVATIONS)
    square = ("ALLREDUCE", 2 * _WIDTH * _WIDTH // _SPLIT)
    wide = ("ALLREDUCE", 4 * square[1])
    yield f"Q{number}", _PROJECTION_NS, _NONE, reduced, square
    yield f"K{number}", _PROJECTION_NS, _NONE, _NONE, square
    yield f"V{number}", _PROJECTION_NS, _NONE, _NONE, square
    yield f"QK{number}", _ATTENTION_NS, _NONE, _NONE, _NONE
    yield f"softmax{number}", _ATTENTION_NS, _NONE, _NONE, _NONE
    gathered = ("ALLGATHER", _ACTIVATIONS // _SPLIT)
    yield f"concat{number}", _PROJECTION_NS, reduced, gathered, square
    yield f"X{number}W1b1", 4 * _PROJECTION_NS - 1, _NONE, reduced, wide
    yield f"X{number}W2b2", 4 * _PROJECTION_NS - 1, reduced, _NONE, wide
    yield f"layerNorm{number}", _NORM_NS, _NONE, _NONE, _NONE


def _text(head: str, rows: list[Row], scale: float) -> str:
    lines = [head, str(len(rows))]
    for name, ns, *phases in rows:
        columns = [str(word) for kind, size in phases for word in (int(ns * scale), kind, size)]
        lines.append("\t".join([name, "-1", *columns, "1"]))
    return "\n".join(lines) + "\n"
