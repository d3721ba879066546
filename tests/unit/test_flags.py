"""Command lines of ASTRA-sim: what they mean, and those that are refused."""

from __future__ import annotations

import pytest

from yantra.astra_sim import flags, from_flags
from yantra.astra_sim.flags import Flags
from yantra.base.errors import ConfigError, UnsupportedError

PATHS = [
    "--workload-configuration=work",
    "--system-configuration=system.json",
    "--network-configuration=network.yml",
    "--remote-memory-configuration=memory.json",
]
NEEDED = Flags(workload="work", system="system.json", network="network.yml", memory="memory.json")

CASES: list[tuple[list[str], str]] = [
    (["--num-queues-per-dim=two"], '--num-queues-per-dim: expected an integer, got "two"'),
    (["--num-queues-per-dim", "1.5"], '--num-queues-per-dim: expected an integer, got "1.5"'),
    (
        ["--num-queues-per-dim=2147483648"],
        '--num-queues-per-dim: expected an integer below 2147483648, got "2147483648"',
    ),
    (["--injection-scale=nan"], '--injection-scale: expected a number, got "nan"'),
    (["--comm-scale=x2"], '--comm-scale: expected a number, got "x2"'),
    (
        ["--semantics=yantra"],
        '--semantics: expected astra-sim or astra-sim@mlsys26, got "yantra"',
    ),
    (["--rendezvous-protocol=yes"], '--rendezvous-protocol: expected true or false, got "yes"'),
    (["--logging-folder="], '--logging-folder: expected a value, got ""'),
    (["--injection-scale"], "--injection-scale: needs a value; write --option=value"),
    (
        ["--network-backend=congestion"],
        '--network-backend: expected congestion-unaware or congestion-aware, got "congestion"; '
        "did you mean 'congestion-unaware'?",
    ),
    (["--scheduling-keys=yes"], '--scheduling-keys: expected ignore or honour, got "yes"'),
    (["--semantics-quirk=name=maybe"], '--semantics-quirk: expected true or false, got "maybe"'),
]


@pytest.mark.parametrize(("arguments", "message"), CASES, ids=[text for _, text in CASES])
def test_a_bad_command_line_is_explained(arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        flags.parse(PATHS + arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize("missing", range(4))
def test_a_missing_path_is_named(missing: int) -> None:
    option = PATHS[missing].partition("=")[0]
    with pytest.raises(ConfigError) as caught:
        flags.parse(PATHS[:missing] + PATHS[missing + 1 :])
    assert str(caught.value) == f"{option}: missing; expected the path of a file"


def test_a_value_follows_an_equals_sign_or_the_option() -> None:
    split = [word for path in PATHS for word in path.split("=")]
    assert flags.parse(split) == flags.parse(PATHS) == NEEDED


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--num-queues-per-dim=4"], NEEDED.replace(num_queues_per_dim=4)),
        (["--num-queues-per-dim=0x10"], NEEDED.replace(num_queues_per_dim=16)),
        (["--num-queues-per-dim=010"], NEEDED.replace(num_queues_per_dim=10)),
        (["--injection-scale=2.5e-1"], NEEDED.replace(injection_scale=0.25)),
        (["--rendezvous-protocol"], NEEDED.replace(rendezvous=True)),
        (["--rendezvous-protocol=F"], NEEDED),
        (["--logging-folder=a", "--logging-folder", "b"], NEEDED.replace(logging_folder="b")),
        (["--comm-group-configuration=g=1.json"], NEEDED.replace(groups="g=1.json")),
        (
            ["--network-backend=congestion-aware"],
            NEEDED.replace(network_backend="congestion-aware"),
        ),
        (
            ["--scheduling-keys=honour", "--json"],
            NEEDED.replace(scheduling_keys="honour", json=True),
        ),
        (
            ["--semantics-quirk=a", "--semantics-quirk", "b=false"],
            NEEDED.replace(quirks=(("a", True), ("b", False))),
        ),
    ],
)
def test_an_option_sets_its_field(arguments: list[str], expected: Flags) -> None:
    assert flags.parse(PATHS + arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "warnings"),
    [
        (
            ["--num-queue-per-dim=2"],
            (
                "--num-queue-per-dim: unknown option, ignored as ASTRA-sim does; did you mean "
                "'num-queues-per-dim'?",
            ),
        ),
        (
            ["--zebra", "striped", "-v"],
            (
                "--zebra: unknown option, ignored as ASTRA-sim does",
                "striped: not an option, ignored as ASTRA-sim does",
                "-v: not an option, ignored as ASTRA-sim does",
            ),
        ),
        (["--", "--json"], ("--json: ignored, as all that follows --",)),
    ],
)
def test_what_is_not_an_option_is_ignored_with_a_warning(
    arguments: list[str], warnings: tuple[str, ...]
) -> None:
    assert flags.parse(PATHS + arguments) == NEEDED.replace(warnings=warnings)


def test_a_switch_takes_no_following_word() -> None:
    assert flags.parse([*PATHS, "--rendezvous-protocol", "false"]) == NEEDED.replace(
        rendezvous=True,
        warnings=("false: ignored as ASTRA-sim does; write --rendezvous-protocol=false",),
    )


def test_help_needs_no_files_and_names_every_option() -> None:
    assert flags.parse(["--help"]).help
    text = flags.help_text("yantra astra-sim")
    assert text.startswith("Usage: yantra astra-sim --option=value ...")
    for path in PATHS:
        assert path.partition("=")[0] in text


def test_the_program_may_set_the_network() -> None:
    assert flags.parse(PATHS, backend="congestion-aware").network_backend == "congestion-aware"


def test_a_command_line_becomes_a_scenario(read: object) -> None:
    read(groups='{"1": [0, 1]}')  # type: ignore[operator]
    arguments = [*PATHS, "--comm-group-configuration=groups.json", "--num-queues-per-dim=2"]
    scenario, warnings = from_flags(flags.parse([*arguments, "--zebra", "--comm-scale=2"]))
    assert scenario.workload.groups == ((1, (0, 1)),)
    assert scenario.collectives.queues_per_dimension == 2
    assert warnings == [
        "--zebra: unknown option, ignored as ASTRA-sim does",
        "comm-scale: has no effect in ASTRA-sim 2; got 2.0",
    ]


@pytest.mark.parametrize("option", ["--htsim-proto=uet", "--htsim_opts"])
def test_a_network_that_is_not_here_is_refused_by_its_name(option: str) -> None:
    name = option.partition("=")[0]
    with pytest.raises(UnsupportedError, match=f"^{name}: packets of htsim"):
        flags.parse([option, "-nodes", "8"])
