"""Reads PyTorch execution traces node by node, in memory of a few blocks.

A file is one object, nearly all of it `nodes`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import IO, Any, TypeVar

import msgspec

from yantra.base.documents import json_value
from yantra.base.errors import ConfigError, TraceError
from yantra.base.regular import open_regular
from yantra.base.unpacking import Unpacked
from yantra.chakra import files
from yantra.chakra.other_formats import recognised
from yantra.tracing.pytorch import json_input
from yantra.tracing.pytorch.json_list import REFUSED, Form, Header, read_list

Node = TypeVar("Node")

NODES = Form("nodes", b'"id"')
_WHAT = "JSON of a host trace or a linked trace"


def read_nodes(
    path: str | os.PathLike[str],
    of: type[Node],
    take: Callable[[list[Node]], None],
    check: Callable[[Header], None] = lambda header: None,
) -> Header:
    """Pass lists of nodes to `take` in file order; return the other fields.

    `check` gets the fields before the nodes, once, and may raise. Raises TraceError when the file
    cannot be read, is not such JSON or does not fit `of`.
    """
    where = os.fspath(path)
    try:
        with open_regular(path) as raw:
            packed = raw.read(2) == files.GZIP
            raw.seek(0)
            file = Unpacked.of(raw, where) if packed else raw
            return _Reader(where, file, of, take, check).run()
    except FileNotFoundError:
        raise TraceError(f"{where}: no such file{files.near(where)}") from None
    except ConfigError as error:  # of packed files
        raise TraceError(str(error)) from None
    except OSError as error:
        raise TraceError(f"{where}: cannot be read: {error.strerror or error}") from None


class _Reader:
    def __init__(
        self,
        where: str,
        file: IO[bytes] | Unpacked,
        of: type[Node],
        take: Callable[[list[Node]], None],
        check: Callable[[Header], None],
    ) -> None:
        self.where = where
        self.file = file
        self.of = of
        self.take = take
        self.check = check
        self.decoder = msgspec.json.Decoder(list[of])  # type: ignore[valid-type]
        self.taken = 0
        self.is_checked = False

    def run(self) -> Header:
        try:
            header = read_list(self.file, NODES, self.decoder, self._give, self._checked)
        except REFUSED:
            header = None
        if header is not None:
            return header
        self.file.seek(0)
        return self._whole(self.file.read())

    def _checked(self, header: Header) -> None:
        self.check(header)
        self.is_checked = True

    def _give(self, nodes: list[Any]) -> None:
        self.taken += len(nodes)
        self.take(nodes)

    def _whole(self, text: bytes) -> Header:
        try:
            header = json_value(text)
        except ValueError:
            header = json_value(json_input.strict_json(text, self.where, _WHAT))
        if profiler := recognised(text, self.where):
            raise TraceError(f"{self.where}: {profiler}")
        if not isinstance(header, dict) or not isinstance(header.get("nodes"), list):
            raise TraceError(
                f"{self.where}: expected a JSON object with a list `nodes`, as PyTorch's execution "
                "trace observer and `yantra chakra link` write"
            )
        nodes = header.pop("nodes")
        if not self.is_checked:
            self.check(header)
        try:
            self._give(self._converted(nodes[self.taken :]))
        except (msgspec.ValidationError, RecursionError) as error:
            raise TraceError(f"{self.where}: {self._placed(str(error))}") from None
        return header

    def _converted(self, nodes: list[Any]) -> list[Any]:
        try:
            return msgspec.convert(nodes, list[self.of])  # type: ignore[name-defined]
        except msgspec.ValidationError:
            try:
                return self.decoder.decode(msgspec.json.encode(nodes))
            except (msgspec.DecodeError, ValueError, OverflowError):
                pass
            raise

    def _placed(self, problem: str) -> str:
        return re.sub(
            r"`\$\[(\d+)\]",
            lambda match: f"`nodes[{int(match[1]) + self.taken}]",
            problem,
        )
