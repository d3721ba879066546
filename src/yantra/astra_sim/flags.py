"""The command line of ASTRA-sim's analytical binaries, or of its ns-3 front end, as in
cxxopts 3.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from yantra.astra_sim.numbers import read_beginning, read_integer
from yantra.astra_sim.system import SchedulingKeys
from yantra.base.errors import ConfigError, UnsupportedError, did_you_mean, expected_got
from yantra.base.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NetworkBackend = Literal["congestion-unaware", "congestion-aware"]


class Flags(Record):
    """What a command line asks for; `warnings` names what was ignored.

    `quirks` holds (name, on) in order, `plugins` files.
    """

    workload: str = ""
    system: str = ""
    network: str = ""
    memory: str = ""
    groups: str = "empty"
    logical_topology: str = ""
    logging_configuration: str = "empty"
    logging_folder: str = "log"
    num_queues_per_dim: int = 1
    compute_scale: float = 1.0
    comm_scale: float = 1.0
    injection_scale: float = 1.0
    rendezvous: bool = False
    semantics: Literal["astra-sim", "astra-sim@mlsys26"] = "astra-sim"
    network_backend: NetworkBackend = "congestion-unaware"
    scheduling_keys: SchedulingKeys = "ignore"
    quirks: tuple[tuple[str, bool], ...] = ()
    plugins: tuple[str, ...] = ()
    fold: Literal["auto", "off", "require"] = "auto"
    memory_limit: int | None = None
    json: bool = False
    csv: str = ""
    table: str = "ranks"
    report: str = ""
    trace: str = ""
    help: bool = False
    warnings: tuple[str, ...] = ()


def parse(arguments: Sequence[str], backend: NetworkBackend = "congestion-unaware") -> Flags:
    """Read the arguments after the program's name; `backend` is the default network.

    Raises ConfigError for a bad value or a missing required option, unless `--help` is given, and
    UnsupportedError for options of the htsim front end.
    """
    values: dict[str, Any] = {"network_backend": backend}
    repeated: dict[str, list[Any]] = {"quirks": [], "plugins": []}
    warnings: list[str] = []
    after_switch = ""
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            break
        if argument == "-h":
            argument = "--help"
        option, equals, text = argument.partition("=")
        known = OPTIONS.get(option.removeprefix("--")) if option.startswith("--") else None
        if option in _OF_HTSIM:
            raise UnsupportedError(f"{option}: {_NO_HTSIM}")
        if known is None:
            warnings.append(_unknown(argument, option, after_switch))
            continue
        field, read, _ = known
        after_switch = option if read is _switch and not equals else ""
        if not equals:
            text = "true" if after_switch else _next(rest, option)
        value = read(option, text)
        if read is _number and (behind := read_beginning(text, option)[1]):
            read_as = text.removesuffix(behind)
            warnings.append(f"{option}: {text!r} is read as {read_as!r}, as in ASTRA-sim")
        if field in repeated:
            repeated[field].append(value)
        else:
            values[field] = value
    warnings += [f"{argument}: ignored, as all that follows --" for argument in rest]
    if not values.get("help"):
        _require(values)
        _check_front_end(values, backend)
    values |= {field: tuple(given) for field, given in repeated.items()}
    return Flags(**values, warnings=tuple(warnings))


def help_text(program: str) -> str:
    from textwrap import wrap

    gap = " " * (max(len(option) for option in OPTIONS) + 6)
    lines = [f"Usage: {program} --option=value ...", "", "Options:"]
    for option, (_, _, meaning) in OPTIONS.items():
        if option in UNLISTED:
            continue
        begin = f"  --{option}".ljust(len(gap))
        lines += wrap(meaning, _HELP_WIDTH, initial_indent=begin, subsequent_indent=gap)
    return "\n".join(lines) + "\n"


def _text(option: str, text: str) -> str:
    if not text:
        raise ConfigError(option, expected_got("a value", text))
    return text


def _whole(option: str, text: str) -> int:
    return read_integer(text, option)


def _number(option: str, text: str) -> float:
    return read_beginning(text, option)[0]


def _size(option: str, text: str) -> int:
    from yantra.base.memory import read_limit

    return read_limit(_text(option, text), f"--{option.removeprefix('--')}")


def _switch(option: str, text: str) -> bool:
    if text in ("1", "t", "T", "true", "True"):
        return True
    if text in ("0", "f", "F", "false", "False"):
        return False
    raise ConfigError(option, expected_got("true or false", text))


def _one_of(*names: str) -> Callable[[str, str], str]:
    def read(option: str, text: str) -> str:
        if text not in names:
            hint = did_you_mean(text, names)
            raise ConfigError(option, expected_got(" or ".join(names), text) + hint)
        return text

    return read


def _quirk(option: str, text: str) -> tuple[str, bool]:
    name, _, state = text.partition("=")
    return _text(option, name), _switch(option, state or "true")


def _next(rest: Any, option: str) -> str:
    try:
        text: str = next(rest)
    except StopIteration:
        raise ConfigError(option, "needs a value; write --option=value") from None
    return text


def _unknown(argument: str, option: str, after_switch: str) -> str:
    if option.startswith("--"):
        hint = did_you_mean(option.removeprefix("--"), OPTIONS)
        return f"{option}: unknown option, ignored as ASTRA-sim does{hint}"
    if after_switch:
        return f"{argument}: ignored as ASTRA-sim does; write {after_switch}={argument}"
    return f"{argument}: not an option, ignored as ASTRA-sim does"


def _require(values: dict[str, Any]) -> None:
    for option, (field, _, _) in OPTIONS.items():
        if field in _REQUIRED and field not in values:
            problem = "missing; expected the path of a file"
            raise ConfigError(f"--{option}", problem + _of_version_one(values))


def _of_version_one(values: dict[str, Any]) -> str:
    from yantra.astra_sim.version_one import Given, found

    named = {field: values.get(field, "") for field in ("network", "system", "workload")}
    return "".join(f"\n{text}" for text in found(Given(**named)))


def _check_front_end(values: dict[str, Any], backend: NetworkBackend) -> None:
    if "logical_topology" in values and values["network_backend"] != backend:
        problem = "goes with the analytical front ends; --logical-topology-configuration is of ns-3"
        raise ConfigError("--network-backend", problem)


_OF_HTSIM = ("--htsim-proto", "--htsim_opts")
_NO_HTSIM = (
    "packets of htsim (tcp, uet) over its own files of topologies are not read; leave out "
    "--htsim-proto, --htsim_opts and what follows it, and take --network-backend=congestion-aware, "
    "for packets the files and --logical-topology-configuration of the ns-3 front end, and for uet "
    "yantra run with network packet, preset uec"
)

# As in yantra.export.json, which this must not import.
_TABLES = ("ranks", "nodes", "collectives", "dimensions", "links")
NETWORKS: dict[str, str] = {
    "congestion-unaware": "analytical",
    "congestion-aware": "store_and_forward",
}
"""The network of each analytical front end."""
CHOICES = {
    "network-backend": tuple(NETWORKS),
    "scheduling-keys": ("ignore", "honour"),
    "fold": ("auto", "off", "require"),
    "semantics": ("astra-sim", "astra-sim@mlsys26"),
    "table": _TABLES,
}
"""Options that take one of some names."""

_HELP_WIDTH = 80
_REQUIRED = ("workload", "system", "network", "memory")
_PATH = "file, required"
OPTIONS: dict[str, tuple[str, Callable[[str, str], Any], str]] = {
    "workload-configuration": (
        "workload",
        _text,
        "prefix of the traces (PREFIX.RANK.et), required",
    ),
    "system-configuration": ("system", _text, f"system {_PATH}"),
    "network-configuration": ("network", _text, f"network {_PATH}"),
    "remote-memory-configuration": ("memory", _text, f"remote memory {_PATH}"),
    "comm-group-configuration": ("groups", _text, "communicator groups, or 'empty'"),
    "logical-topology-configuration": (
        "logical_topology",
        _text,
        "dimensions, as the ns-3 front end has them; the network file is then ns-3's",
    ),
    "logging-configuration": ("logging_configuration", _text, "spdlog set-up, or 'empty'"),
    "logging-folder": ("logging_folder", _text, "folder of the logs (default: log)"),
    "num-queues-per-dim": ("num_queues_per_dim", _whole, "queues per dimension (default: 1)"),
    "compute-scale": ("compute_scale", _number, "has no effect in ASTRA-sim 2"),
    "comm-scale": ("comm_scale", _number, "has no effect in ASTRA-sim 2"),
    "injection-scale": ("injection_scale", _number, "factor of endpoint-delay (default: 1)"),
    "rendezvous-protocol": ("rendezvous", _switch, "announce each message (default: false)"),
    "network-backend": (
        "network_backend",
        _one_of(*CHOICES["network-backend"]),
        " or ".join(NETWORKS),
    ),
    "scheduling-keys": (
        "scheduling_keys",
        _one_of(*CHOICES["scheduling-keys"]),
        "ignore or honour intra-/inter-dimension-scheduling (default: ignore)",
    ),
    "semantics": (
        "semantics",
        _one_of(*CHOICES["semantics"]),
        "astra-sim (master), or astra-sim@mlsys26, the branch of that paper",
    ),
    "semantics-quirk": ("quirks", _quirk, "NAME or NAME=false: turn one oddity on or off"),
    "plugin": (
        "plugins",
        _text,
        "Python file with a topology or algorithm that the files name; may be repeated",
    ),
    "fold": (
        "fold",
        _one_of(*CHOICES["fold"]),
        "run one rank for all that do the same; auto: never here (default: auto)",
    ),
    "memory-limit": (
        "memory_limit",
        _size,
        "the most memory to take, such as 8GiB (default: nine tenths of what is free)",
    ),
    "json": ("json", _switch, "write the result as JSON"),
    "csv": ("csv", _text, "write one table as CSV to this file, beside the lines"),
    "table": (
        "table",
        _one_of(*_TABLES),
        f"{', '.join(_TABLES[:-1])} or {_TABLES[-1]}, for --csv (default: ranks)",
    ),
    "report": ("report", _text, "write a report of the run to this file, HTML"),
    "trace": ("trace", _text, "write a timeline, FILE.pftrace or FILE.json"),
    "help": ("help", _switch, "show this text"),
}
"""Every option: the field of `Flags`, how its text is read, and what it means."""

UNLISTED = ("json", "plugin", "memory-limit", "help", "compute-scale", "comm-scale")
"""What most commands have (`yantra --help`), and what has no effect."""

FILES = (
    *(f"{what}-configuration" for what in ("workload", "system", "network", "remote-memory")),
    *("comm-group-configuration", "logical-topology-configuration", "logging-folder", "plugin"),
)
"""Options that take a path."""
