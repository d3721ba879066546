"""`--set NAME=VALUE` of a command is the option of that name, whatever the option is."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.cli.collective.bench import command as bench
from yantra.cli.collective.synthesize import command as synthesize
from yantra.cli.command import WithExamples
from yantra.cli.group import yantra
from yantra.cli.network.flows import command as flows
from yantra.cli.seldom import Seldom
from yantra.cli.topology.show import command as show
from yantra.fabric.graphs.describe import overview

PLAN = ["workload", "train", "--model", "llama3-8b", "--ranks", "8", "--tp", "2", "--json"]


def _seldom() -> tuple[Seldom, click.Context]:
    params = [
        click.Option(["--sequence-parallel/--no-sequence-parallel"], default=None, help="S."),
        click.Option(["--bucket-elements"], type=int, help="Elements."),
        click.Option(["-l", "--last"], is_flag=True),
    ]
    names = ("sequence_parallel", "bucket_elements", "last")
    command = click.Command("x", params=list(params))
    return Seldom(params, names), click.Context(command)


def test_a_setting_is_the_option_of_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = {
        "sequence_parallel=false": "--no-sequence-parallel",
        "overlap-p2p=false": "--no-overlap-p2p",
        "overlap_p2p=true": "--overlap-p2p",
        "order=tp-cp-dp-pp": "--order=tp-cp-dp-pp",
        "tp=4": "--tp=4",
    }
    for setting, flag in pairs.items():
        assert main([*PLAN, "--set", setting]) == 0
        by_name = capsys.readouterr().out
        assert main([*PLAN, f"--set={setting}"]) == 0 and capsys.readouterr().out == by_name
        assert main([*PLAN, flag]) == 0
        assert capsys.readouterr().out == by_name


@given(st.lists(st.text(min_size=1).filter(lambda word: not word.startswith("--set"))))
def test_other_words_stay_as_they_are(words: list[str]) -> None:
    seldom, context = _seldom()
    assert seldom.spelled_out(words, context) == words
    spelled = seldom.spelled_out([*words, "--", "--set", "last=true"], context)
    assert spelled == [*words, "--", "--set", "last=true"]


def test_a_switch_that_is_off_by_itself_may_be_set_to_false() -> None:
    seldom, context = _seldom()
    assert seldom.spelled_out(["--set", "last=true"], context) == ["--last"]
    assert seldom.spelled_out(["--set", "last=false"], context) == []


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("cp_kid=a2a", "--set: nothing is named 'cp_kid'; did you mean 'cp_kind'"),
        ("prefetch", "--set prefetch: expected prefetch=VALUE: layers whose weights"),
        ("overlap_p2p=maybe", "--set overlap_p2p: expected true or false, got 'maybe'"),
        ("cp_kind=x", "--cp-kind: expected one of p2p, all_gather, a2a, got 'x'"),
    ],
)
def test_a_wrong_setting_is_named(
    setting: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*PLAN, "--set", setting]) == 2
    assert said in capsys.readouterr().err


def test_set_help_describes_every_name(capsys: pytest.CaptureFixture[str]) -> None:
    from yantra.cli.workload.train import command

    assert isinstance(command, WithExamples) and command.seldom is not None
    assert main(["workload", "train", "--set", "help"]) == 0
    told = capsys.readouterr().out
    for name in command.seldom.options:
        assert f"\n{name} " in f"\n{told}"


def test_a_name_that_no_option_has_is_a_mistake_of_the_command() -> None:
    with pytest.raises(KeyError):
        Seldom([click.Option(["--one"])], ("two",))


def test_plans_are_bounded_by_allow_as_by_their_flags(capsys: pytest.CaptureFixture[str]) -> None:
    plan = ["plan", "--model", "llama3-8b", "--ranks", "8", "--cluster", "hgx-h100"]
    plan += ["--global-batch", "16", "--no-refine"]
    assert main([*plan, "--allow", "tp=2,4", "--allow", "overlap=true", "--json"]) == 0
    by_allow = capsys.readouterr().out
    assert '"tp": 2' in by_allow and '"tp": 1' not in by_allow
    with pytest.raises(ConfigError, match="tp is given by --tp, too"):
        _plan_of([*plan, "--tp", "1", "--allow", "tp=2"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--allow", "zero=x"], "error: --allow zero: expected whole numbers"),
        (["--zero", "x"], "error: --zero: expected whole numbers"),
        (["--allow", "overlap=no"], "error: --allow overlap: expected true, false"),
    ],
)
def test_a_wrong_bound_is_told_where_it_was_typed(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = ["plan", "--model", "llama3-8b", "--ranks", "8", "--cluster", "hgx-h100"]
    assert main([*plan, "--global-batch", "16", *words]) == 2
    assert capsys.readouterr().err.startswith(said)


def _plan_of(line: list[str]) -> None:
    from yantra.cli.group import run

    run(line)


def test_the_short_flag_of_a_network_on_chip_is_a_setting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = ["network", "noc", "--topology", "mesh", "--sizes", "2x2", "--rate", "0.1", "--json"]
    assert main([*line, "--set", "samples=4", "--set", "sample-cycles=200"]) == 0
    by_name = capsys.readouterr().out
    assert main([*line, "--samples", "4", "--sample-cycles", "200"]) == 0
    assert capsys.readouterr().out == by_name


@pytest.mark.parametrize("group", ["stack", "cluster", "topology"])
def test_show_without_a_name_lists_as_list_did(
    group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([group, "show", "--json"]) == 0
    shown = capsys.readouterr().out
    assert main([group, "list", "--json"]) == 0
    assert capsys.readouterr().out == shown
    assert len(json.loads(shown)) > 5


def _commands(group: click.Group, context: click.Context) -> Iterator[click.Command]:
    for name in group.list_commands(context):
        if name in getattr(group, "seldom_called", ()):
            continue
        one = group.get_command(context, name)
        assert one is not None
        if isinstance(one, click.Group):
            yield from _commands(one, context)
        if not isinstance(one, click.Group) or one.invoke_without_command:
            yield one


def test_help_shows_few_commands_and_options() -> None:
    """60 and 280; for serving, recordings and post-training 10 and 60 more; for lives 4 and 25;
    for the library and suites 5 and 7."""
    commands = list(_commands(yantra, click.Context(yantra)))
    shown = [
        option
        for command in commands
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden
    ]
    assert len(commands) <= 79
    assert len(shown) <= 372


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cluster collectives hgx-h100", "collective bench --cluster NAME --ranks N"),
        ("cluster export torus", "topology show KIND|FILE --infragraph OUTPUT"),
        ("collective bound torus", "topology show KIND|FILE --bounds SIZE"),
        ("workload convert text w.txt", "chakra convert text WORKLOAD -o OUTPUT.yw"),
    ],
)
def test_a_command_that_is_gone_names_the_one_that_answers(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(old.split()) == 2
    assert f"is now yantra {new}" in capsys.readouterr().err


@pytest.mark.parametrize("command", [flows, bench, synthesize, show])
def test_no_option_of_a_fabric_is_taken_for_one_of_the_command(command: WithExamples) -> None:
    assert command.seldom is not None
    keys = {key for row in overview() for key in (*row.needs, *row.takes)}
    assert not keys & set(command.seldom.options)
