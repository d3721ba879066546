"""A launch command that records: `torchrun train.py` as it runs through `yantra.collect`.

The script is found in the command's words, so that any launcher which hands `-m MODULE` to Python
will do; a shell script that starts Python inside is not looked into.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from yantra.base.errors import ConfigError

_LAUNCHERS = {
    "torch.distributed.run",
    "torch.distributed.launch",
    "accelerate.commands.launch",
    "deepspeed.launcher.runner",
}


def recording(command: Sequence[str], options: Sequence[str]) -> list[str]:
    """`command` with `-m yantra.collect` and its `options` before the script or module it starts.

    Raises ConfigError where it starts neither.
    """
    for at, word in enumerate(command):
        if word.endswith(".py"):
            if not os.path.isfile(word):
                raise ConfigError(word, "no such file; expected the script to record")
            return [*command[:at], "-m", "yantra.collect", *options, *command[at:]]
        module = command[at + 1] if word in ("-m", "--module") and at + 1 < len(command) else None
        if module is not None and module not in _LAUNCHERS:
            return [*command[:at], "-m", "yantra.collect", *options, *command[at:]]
    raise ConfigError(
        shlex.join(command),
        "no Python script in it; expected such as torchrun --nproc-per-node 2 train.py",
    )
