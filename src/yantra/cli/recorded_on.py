"""Whether a recording was made on the GPU that a command takes it for.

Trade-off: names are compared by the model in them (H100, 4090), so variants of a model are one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def differences(files: Sequence[str], gpu: str | None, option: str, what: str) -> list[str]:
    """A warning if the recordings name another GPU than `gpu`, a GPU or its cluster or None.

    `what` says what rests on `gpu`. Silent where the recordings or the GPU are not known.
    """
    if gpu is None:
        return []

    from yantra.base.errors import ConfigError
    from yantra.compute.retarget.gpus import gpu_named
    from yantra.tracing.why.look import recorded_device

    try:
        wanted = gpu_named(gpu, option).title
    except ConfigError:
        return []
    device = recorded_device(files)
    words = re.split(r"[^0-9A-Za-z]+", device)
    models = [word for word in re.split(r"[^0-9A-Za-z]+", wanted) if re.search(r"\d", word)]
    if not device or not models or models[0] in words:
        return []
    return [f"{option} {gpu}: the recording was made on {device}; {what} {wanted}"]
