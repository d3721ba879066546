"""Records a recipe, one rank in this process, several in one each over gloo (`worker.py`); then
links and converts.

A recording has no digest of its times, one of its structure: what each rank runs, in which order,
on what sizes. That of another version of PyTorch or transformers differs.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from tempfile import TemporaryDirectory
from typing import Any

from yantra.base.errors import ConfigError, UnsupportedError, did_you_mean, expected_got
from yantra.library.families import Recipe
from yantra.library.manifest import NUMBERS, Row

_PATIENCE_S = 300
_USUAL: dict[str, Any] = {
    "model": "", "layers": 2, "width": 64, "batch": 2, "sequence": 32, "vocabulary": 512,
    "phase": "training", "dp": 1, "shard": False,
}  # fmt: skip
_MOST_RANKS = 4


def record(recipe: Recipe, path: str) -> Row:
    """Record into a new folder: `rank.{rank}.et` and, of several ranks, their groups.

    Raises UnsupportedError without PyTorch or transformers, or where the job fails.
    """
    asked = _asked(recipe)
    _check_packages()
    parent = os.path.dirname(os.path.abspath(path))
    with TemporaryDirectory(prefix=f".{recipe.name}.", dir=parent) as draft:
        raw = os.path.join(draft, "raw")
        _run(recipe, asked, raw)
        made = os.path.join(draft, "made")
        row = _converted(recipe, asked, raw, made)
        if os.path.isdir(path):
            os.rename(path, os.path.join(draft, "old"))
        os.rename(made, path)
    return row


def _asked(recipe: Recipe) -> dict[str, Any]:
    for key, value in recipe.settings.items():
        if key not in _USUAL:
            raise ConfigError(f"{recipe.name}: {key}", f"unknown key{did_you_mean(key, _USUAL)}")
        if type(value) is not type(_USUAL[key]) or (type(value) is int and value < 1):
            problem = expected_got(f"a value such as {_USUAL[key]!r}, at least 1", value)
            raise ConfigError(f"{recipe.name}: {key}", problem)
    asked = _USUAL | dict(recipe.settings)
    if asked["dp"] > _MOST_RANKS:
        problem = expected_got(f"at most {_MOST_RANKS} ranks", asked["dp"])
        raise ConfigError(f"{recipe.name}: dp", problem)
    if asked["phase"] not in ("training", "inference"):
        problem = expected_got("training or inference", asked["phase"])
        raise ConfigError(f"{recipe.name}: phase", problem)
    return asked


def versions() -> dict[str, str]:
    """Of PyTorch and transformers, those that are installed."""
    found = {}
    for name in ("torch", "transformers"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _check_packages() -> None:
    if missing := [name for name in ("torch", "transformers") if name not in versions()]:
        what = " and ".join(missing)
        raise UnsupportedError(
            f"recording needs {what}, which {'is' if len(missing) == 1 else 'are'} not installed: "
            "pip install torch transformers"
        )


def _run(recipe: Recipe, asked: dict[str, Any], folder: str) -> None:
    if asked["dp"] > 1:
        _run_ranks(recipe, asked, folder)
        return
    from yantra.library.worker import main

    with _silence():
        try:
            main(folder, json.dumps(asked))
        except Exception as error:  # of any architecture
            why = str(error).strip().splitlines()[:1] or [""]
            problem = f"{type(error).__name__}: {why[0]}"
            raise UnsupportedError(f"{recipe.name}: not recorded: {problem}") from None


@contextmanager
def _silence() -> Iterator[None]:
    """Without what PyTorch's core writes to standard error."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def _run_ranks(recipe: Recipe, asked: dict[str, Any], folder: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "yantra.library.worker", folder, json.dumps(asked)]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(asked["dp"]),
              "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}  # fmt: skip
    jobs = [
        subprocess.Popen(command, env=os.environ | shared | {"RANK": str(rank)},
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
        for rank in range(asked["dp"])
    ]  # fmt: skip
    try:
        said = [job.communicate(timeout=_PATIENCE_S)[1] for job in jobs]
    except subprocess.TimeoutExpired:
        raise UnsupportedError(f"{recipe.name}: not recorded within {_PATIENCE_S} s") from None
    finally:
        for job in jobs:
            job.kill()
            job.wait()
    for rank, job in enumerate(jobs):
        if job.returncode:
            last = said[rank].strip().splitlines()[-1:] or [f"status {job.returncode}"]
            raise UnsupportedError(f"{recipe.name}: rank {rank} failed: {last[0]}")


def _converted(recipe: Recipe, asked: dict[str, Any], raw: str, folder: str) -> Row:
    from yantra.base.output import whole_bytes, write_text
    from yantra.chakra import Trace
    from yantra.library.features import Part, features
    from yantra.library.recorded import NAMES, digest_of, reaches, totals
    from yantra.library.statistics import tags_of
    from yantra.tracing.inspect.columns import Columns
    from yantra.tracing.pytorch.files import groups_name
    from yantra.tracing.pytorch.in_memory import each

    os.mkdir(folder)
    content: dict[int, bytes] = {}

    def take(rank: int, pieces: Iterable[bytes]) -> None:
        content[rank] = b"".join(pieces)

    pairs = [os.path.join(raw, f"{kind}.{{rank}}.json") for kind in ("host", "device")]
    made = each(pairs, take)
    traces = {rank: Columns(Trace.from_bytes(content[rank])) for rank in sorted(content)}
    for rank, data in content.items():
        with whole_bytes(os.path.join(folder, NAMES.format(rank=rank))) as file:
            file.write(data)
    if made.groups:
        write_text(groups_name(os.path.join(folder, NAMES)), made.groups)
    known = reaches(made.members)
    parts = [Part(columns, 1, known) for columns in traces.values()]
    degrees = {"tp": 1, "cp": 1, "pp": 1, "dp": asked["dp"], "ep": 1}
    sizes = {"layers": asked["layers"], "hidden": asked["width"], "sequence": asked["sequence"],
             "batch": asked["batch"] * asked["dp"]}  # fmt: skip
    numbers = dict.fromkeys(NUMBERS, 0) | degrees | sizes | totals(traces.values())
    tags = (asked["phase"], asked["model"], "pytorch", *(["fsdp"] if asked["shard"] else []))
    words = tags_of(recipe, (*tags, *(f"{a}-{b}" for a, b in versions().items())), degrees)
    ranks = len(traces)
    return Row(
        recipe.name, "record", digest_of(traces.values()), words, numbers, features(parts, ranks, 0)
    )
