"""The matrix that `nvidia-smi topo -m` prints: which GPUs have NVLinks, and how near each NIC is.

            GPU0    GPU1    NIC0    NIC1    CPU Affinity    NUMA Affinity
    GPU0     X      NV18    PIX     SYS     0-55            0
    GPU1    NV18     X      SYS     PIX     0-55            0
    ...
    NIC Legend:
      NIC0: mlx5_0

NV# is a number of NVLinks; PIX, PXB, PHB, NODE and SYS are PCI paths, the nearest first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got

NEAREST = ("PIX", "PXB", "PHB", "NODE", "SYS")

_COLUMN = re.compile(r"^(GPU|NIC|mlx)[\w.-]{1,60}$")
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_LEGEND = re.compile(r"^\s*(NIC\d{1,4}): ([\w.-]{1,64})\s*$")
_MOST = 256  # devices of a node


class Topology(NamedTuple):
    gpus: tuple[str, ...]
    nics: tuple[str, ...]
    paths: dict[tuple[str, str], str]

    def nvlinks(self) -> int | None:
        """None where pairs differ or some have none."""
        found = {self.paths[a, b] for a in self.gpus for b in self.gpus if a != b}
        if len(found) != 1:
            return None
        (path,) = found
        return int(path[2:]) if path.startswith("NV") else None

    def with_nics(self, names: Sequence[str], where: str) -> Topology:
        """Raises ConfigError at `where` for other names."""
        for at, one in enumerate(names):
            if one not in self.nics:
                expected = f"one of {', '.join(self.nics)}" if self.nics else "a NIC; there is none"
                problem = expected_got(expected, one) + did_you_mean(one, self.nics)
                raise ConfigError(f"{where}[{at}]", problem)
        return self._replace(nics=tuple(one for one in self.nics if one in names))

    def nearest(self, gpu: str) -> str:
        return min((self.paths[gpu, nic] for nic in self.nics), key=NEAREST.index)


def load(path: Path) -> Topology:
    """The matrix of a file. Raises ConfigError with file and line."""
    return parse(read_text(path), str(path))


def parse(text: str, name: str) -> Topology:
    """The matrix of a text; errors call it `name`."""
    columns: list[str] = []
    rows: dict[str, list[str]] = {}
    called: dict[str, str] = {}
    for at, raw in enumerate(text.split("\n"), 1):
        line = _ESCAPE.sub("", raw.rstrip("\r"))
        words = line.split()
        legend = _LEGEND.match(line)
        if legend is not None:
            called[legend[1]] = legend[2]
        elif not columns and words and _COLUMN.match(words[0]) and "X" not in words:
            columns = _columns(words, f"{name}:{at}")
        elif columns and words and words[0] in columns and words[0] not in rows:
            rows[words[0]] = _row(words, columns, f"{name}:{at}")
    if not columns:
        expected = "a line of columns GPU0, GPU1, ..., as nvidia-smi topo -m prints"
        raise ConfigError(name, f"expected {expected}; there is none")
    return _made(columns, rows, called, name)


def _columns(words: list[str], where: str) -> list[str]:
    columns: list[str] = []
    for word in words:
        if not _COLUMN.match(word):
            break  # CPU Affinity and what follows
        if word in columns:
            raise ConfigError(where, f"{word} is a column twice")
        columns.append(word)
    if len(columns) > _MOST:
        raise ConfigError(where, f"expected at most {_MOST} GPUs and NICs, got {len(columns)}")
    return columns


def _row(words: list[str], columns: list[str], where: str) -> list[str]:
    paths = words[1 : 1 + len(columns)]
    if len(paths) < len(columns):
        raise ConfigError(where, f"expected {len(columns)} paths, got {len(paths)}")
    for column, path in zip(columns, paths, strict=True):
        is_nvlink = re.fullmatch(r"NV[1-9]\d?", path) is not None
        if (path == "X") != (column == words[0]) or not (
            path == "X" or is_nvlink or path in NEAREST
        ):
            expected = "X" if column == words[0] else f"NV1 and so on, {', '.join(NEAREST)}"
            raise ConfigError(where, f"{column}: {expected_got(expected, path)}")
    return paths


def _made(
    columns: list[str], rows: dict[str, list[str]], called: dict[str, str], name: str
) -> Topology:
    missing = next((one for one in columns if one not in rows), None)
    if missing is not None:
        raise ConfigError(name, f"{missing} is a column without a line")
    paths = {
        (row, column): path
        for row, line in rows.items()
        for column, path in zip(columns, line, strict=True)
    }
    for (a, b), path in paths.items():
        if paths[b, a] != path:
            problem = f"{a} has {path} to {b}, and {b} has {paths[b, a]} to {a}"
            raise ConfigError(name, problem)
    gpus = tuple(one for one in columns if one.startswith("GPU"))
    if len(gpus) < 2:
        raise ConfigError(name, f"expected at least 2 GPUs, got {len(gpus)}")
    of = {one: called.get(one, one) for one in columns}
    if len(set(of.values())) < len(of):
        raise ConfigError(name, "two NICs have one name in the legend")
    renamed = {(of[a], of[b]): path for (a, b), path in paths.items()}
    nics = tuple(of[one] for one in columns if one not in gpus)
    return Topology(gpus, nics, renamed)
