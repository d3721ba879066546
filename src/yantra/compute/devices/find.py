"""Finds described devices: the built-in files by name, a user's own by path."""

from __future__ import annotations

import os
from functools import cache
from os import path as paths

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.named_files import ENDING, NamedFiles
from yantra.compute.devices.types import FILE, Device

_FILES = NamedFiles("device", paths.join(paths.dirname(__file__), "dies"))


def names() -> tuple[str, ...]:
    """The names of the built-in devices, sorted."""
    return _FILES.names()


def load(name: Path, where: str = "device") -> Device:
    """A built-in device by name, or a file by its path, which ends in `.yaml`.

    `where` is the field of errors. Raises ConfigError.
    """
    text = os.fspath(name)
    if text in names():
        return _read(_FILES.path(text))
    if text.endswith(ENDING):
        return _read(text)
    expected = f"one of {', '.join(names())}, or the path of a file that ends in {ENDING}"
    raise ConfigError(where, expected_got(expected, text) + did_you_mean(text, names()))


@cache
def _read(path: str) -> Device:
    try:
        device = FILE.read(parse_yaml(read_text(path), path), "", "")
    except ConfigError as error:
        raise (error if error.where == path else ConfigError(path, str(error))) from None
    assert isinstance(device, Device)
    for more, less, value in (
        ("cores_on_die", "cores", (device.cores_on_die, device.cores)),
        (
            "global_buffer.on_die",
            "global_buffer.size",
            (device.global_buffer.on_die_bytes, device.global_buffer.size_bytes),
        ),
    ):
        if value[0] is not None and value[0] < value[1]:
            raise ConfigError(path, f"{more}: must not be below {less}, which is {value[1]}")
    return device
