"""Checks an installation: what works, and what to do."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

from yantra.base.extras import install

State = Literal["good", "absent", "bad"]

OLDEST_PYTHON = (3, 11)
NEEDED = {
    "numpy": ("numpy", "2"),
    "msgspec": ("msgspec", "0.19"),
    "PyYAML": ("yaml", "6"),
    "click": ("click", "8.1"),
    "rich": ("rich", "13"),
}
"""The packages that are always needed: the name they are imported by, the oldest version."""

OPTIONAL = {
    "pyarrow": ("pyarrow", "tables as Parquet", install("tables")),
    "grpcio": ("grpc", "yantra service", install("service")),
    "torch": ("torch", "recording and replaying PyTorch jobs", install("torch")),
}
"""The packages of extras: the name they are imported by, what they unlock, how to get them."""

PROGRAMS = {
    "dot": ("drawings as SVG and PDF", "install graphviz, such as apt-get install graphviz")
}
_DROP_IN = "pip install ./distributions/chakra in Yantra's source"
_REINSTALL = "install Yantra again: pip install --force-reinstall ."
_LEAST_FREE_BYTES = 100 << 20
_LEAST_MEMORY_BYTES = 1 << 30


class Check(NamedTuple):
    """A check: `absent` is fine, `bad` needs `advice`."""

    name: str
    state: State
    found: str
    advice: str = ""


def examine() -> list[Check]:
    return [
        _python(),
        _yantra(),
        *(_guarded(name, partial(_package, name)) for name in NEEDED),
        _guarded("core", _core),
        *(_optional(name) for name in OPTIONAL),
        *(_program(name) for name in PROGRAMS),
        _guarded("chakra", _chakra),
        _guarded("chakra_*", _chakra_commands),
        _guarded("temporary files", _temporary),
        _terminal(),
        _cores(),
        _memory(),
    ]


def is_fine(checks: list[Check]) -> bool:
    return all(check.state != "bad" for check in checks)


def lines(checks: list[Check]) -> Iterator[str]:
    width = max(len(check.name) for check in checks)
    for check in checks:
        yield f"{check.state:6}  {check.name:{width}}  {check.found}"
        if check.advice:
            yield f"{'':6}  {'':{width}}  to do: {check.advice}"
    bad = [check.name for check in checks if check.state == "bad"]
    yield f"wrong: {', '.join(bad)}" if bad else "everything that is needed works"


def _guarded(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Exception as error:
        text = str(error).partition("\n")[0]
        return Check(name, "bad", f"{type(error).__name__}: {text}", _REINSTALL)


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        needed = ".".join(map(str, OLDEST_PYTHON))
        return Check("python", "bad", found, f"install Python {needed} or newer")
    return Check("python", "good", f"{found}, {sys.executable}")


def _yantra() -> Check:
    from yantra import __version__

    rival = _namesake()
    if rival:
        advice = f"pip uninstall yantra, then {_REINSTALL.partition(': ')[2]}"
        return Check("yantra", "bad", f"{rival} writes into the same folder", advice)
    return Check("yantra", "good", f"{__version__}, {os.path.dirname(os.path.dirname(__file__))}")


def _namesake() -> str:
    """Return the package `yantra` of the index, which is not ours, if it is installed."""
    try:
        about = metadata.metadata("yantra")
    except metadata.PackageNotFoundError:
        return ""
    is_ours = about["Summary"].startswith("Predicts how")  # until we had a name of our own
    return "" if is_ours else f"yantra {about['Version']} ({about['Summary']})"


def _package(name: str) -> Check:
    module, oldest = NEEDED[name]
    import_module(module)
    found = metadata.version(name)
    if _numbers(found) < _numbers(oldest):
        return Check(name, "bad", found, f"pip install '{name}>={oldest}'")
    return Check(name, "good", found)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


def _core() -> Check:
    from yantra.demo import all_reduce
    from yantra.run.simulate import simulate

    example = all_reduce()
    ends = set(simulate(example.scenario).finish_ns)
    known = example.astra_sim_ns
    if ends != {known}:
        found = f"a run that ends at {known} ns ended at {sorted(map(float, ends))} ns"
        return Check("core", "bad", found, _REINSTALL)
    return Check("core", "good", f"a known run ends at {known} ns, as it must; no compiler needed")


def _optional(name: str) -> Check:
    module, unlocks, advice = OPTIONAL[name]
    if find_spec(module) is None:
        return Check(name, "absent", f"needed for {unlocks}", advice)
    return Check(name, "good", f"{metadata.version(name)}: {unlocks}")


def _program(name: str) -> Check:
    from shutil import which

    unlocks, advice = PROGRAMS[name]
    found = which(name)
    if found is None:
        return Check(name, "absent", f"needed for {unlocks}", advice)
    return Check(name, "good", f"{found}: {unlocks}")


def _chakra() -> Check:
    from yantra.cli import chakra_package

    found = chakra_package.active()
    if found.whose == "nobody":
        unlocks = "needed for scripts that import chakra, and python -m chakra. ..."
        return Check("chakra", "absent", unlocks, _DROP_IN)
    if not found.rival:
        return Check("chakra", "good", found.found)
    if found.whose == "upstream":
        idle = f"{found.found}; {found.rival} is installed, too, and idle"
        return Check("chakra", "good", idle, chakra_package.choice())
    refused = f"{found.found}, which {found.rival} keeps from being imported"
    return Check("chakra", "bad", refused, chakra_package.choice())


def _chakra_commands() -> Check:
    from shutil import which

    found = which("chakra_converter")
    if found is None:
        return Check("chakra_*", "absent", "the commands of upstream's names are not on PATH")
    with open(found, encoding="utf-8", errors="replace") as file:
        whose = "Yantra's" if "yantra.cli" in file.read() else "upstream's"
    return Check("chakra_*", "good", f"{whose}: {found}")


def _temporary() -> Check:
    from shutil import disk_usage
    from tempfile import NamedTemporaryFile, gettempdir

    advice = "set TMPDIR to a folder on a disk with space"
    try:
        folder = gettempdir()
        with NamedTemporaryFile(dir=folder) as file:
            file.write(b"yantra")
            file.flush()
    except OSError as error:
        found = f"cannot be written: {error.strerror or error}"
        return Check("temporary files", "bad", found, advice)
    free = disk_usage(folder).free
    state: State = "good" if free >= _LEAST_FREE_BYTES else "bad"
    found = f"{folder}, {_size(free)} free"
    return Check("temporary files", state, found, "" if state == "good" else advice)


def _terminal() -> Check:
    encoding = sys.stdout.encoding or "utf-8"
    kind = "a terminal" if sys.stdout.isatty() else "no terminal: plain text, no progress"
    found = f"{kind}, {encoding}"
    if encoding.lower().replace("-", "") not in ("utf8", "utf8sig"):
        return Check("output", "bad", found, "set PYTHONUTF8=1: texts hold more than ASCII")
    return Check("output", "good", found)


def _cores() -> Check:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Check("cores", "good", f"{cores} for yantra sweep; one run uses one")


def _memory() -> Check:
    values: dict[str, Any] = {}
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                name, _, rest = line.partition(":")
                values[name] = int(rest.split()[0]) << 10
        total, free = values["MemTotal"], values["MemAvailable"]
    except (OSError, ValueError, KeyError, IndexError):
        return Check("memory", "absent", "this system does not say")
    found = f"{_size(free)} free of {_size(total)}"
    advice = "" if free >= _LEAST_MEMORY_BYTES else "end other programs; large jobs need some GiB"
    return Check("memory", "good", found, advice)


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.1f} GiB"
