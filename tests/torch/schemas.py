"""Prints the listed operators that break the rules of the list, by the schemas of this PyTorch."""

from __future__ import annotations

import re

import torch

from yantra.tracing.replay.computing import NAMES, SPACE

OPAQUE = re.compile(r"Storage|Stream|RRef|Future|__torch__|QScheme|Any")
CHOICES = {"approximate", "driver", "equation", "indexing", "interpolation", "mode", "norm", "ord"}
CHOICES |= {"info", "pad_mode", "padding", "padding_side", "reduce", "rounding_mode", "side"}
CHOICES |= {"UPLO", "activation", "input_dtype"}
"""Texts that choose one of a few ways to compute."""

of_tensors: dict[str, list[object]] = {}
for schema in torch._C._jit_get_all_schemas():
    space, name = schema.name.split("::")
    if space != SPACE or name not in NAMES:
        continue
    values = [*schema.arguments, *schema.returns]
    if not any("Tensor" in str(value.type) for value in values):
        continue  # of Python's numbers, lists and texts
    of_tensors.setdefault(name, []).append(schema)
    opaque = [value.name for value in values if OPAQUE.search(str(value.type))]
    texts = {value.name for value in schema.arguments if "str" in str(value.type)} - CHOICES
    if (opaque and name != "dequantize") or texts:
        print(schema, opaque, texts)

missing = sorted(NAMES - of_tensors.keys())
if len(missing) > len(NAMES) // 10:
    print("this PyTorch lacks", missing)
