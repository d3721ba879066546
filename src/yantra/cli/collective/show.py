"""`yantra collective show`: the rounds of an algorithm or of an MSCCL program, proven and drawn."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.plugin_option import option as plugin_option

if TYPE_CHECKING:
    from yantra.collectives.messages import Message, Rounds

_MOST_ROUNDS = 16  # of the table; more lose their middle
_KINDS = (
    *("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce"),
    *("gather", "scatter", "barrier"),
)


@click.command(
    cls=WithExamples,
    examples=[
        "yantra collective show ring --ranks 4",
        "yantra collective show direct --collective all_to_all --json",
        "yantra collective show allreduce.xml --svg rounds.svg",
    ],
)
@click.argument("algorithm", metavar="NAME|FILE")
@click.option(
    "--ranks",
    type=click.IntRange(min=2, max=512),
    default=8,
    show_default=True,
    help="Number of ranks; an MSCCL program states its own.",
)
@click.option(
    "--collective",
    type=click.Choice(_KINDS),
    metavar="KIND",
    default="all_reduce",
    show_default=True,
    help="What it performs, such as all_gather; an MSCCL program states its own.",
)
@click.option("--svg", metavar="FILE", type=click.Path(), help="Draw the messages.")
@plugin_option
@json_option
def command(algorithm: str, ranks: int, collective: str, svg: str | None, as_json: bool) -> None:
    """Show who sends what in which round, for the algorithm NAME or the MSCCL program in FILE."""
    from yantra.base.output import write_text
    from yantra.collectives.drawing import drawing

    if algorithm.endswith(".xml"):
        title, rounds = _program(algorithm)
    else:
        title, rounds = _algorithm(algorithm, collective, ranks)
    if svg is not None:
        write_text(svg, drawing(rounds, title))
    if as_json:
        print_json(
            {
                "title": title,
                "members": list(rounds.members),
                "sent": [float(share) for share in rounds.sent()],
                "rounds": [[_form(each) for each in round_] for round_ in rounds.rounds],
            }
        )
        return
    _print(title, rounds)
    if svg is not None:
        sys.stdout.write(f"wrote: {svg}\n")


def _program(file: str) -> tuple[str, Rounds]:
    from yantra.collectives.messages import of_program
    from yantra.collectives.msccl import prove, read_program

    proof = prove(read_program(file))
    count = len(proof.program.gpus)
    return f"{proof.program.name}: {proof.collective} over {count} ranks", of_program(proof)


def _algorithm(name: str, collective: str, ranks: int) -> tuple[str, Rounds]:
    from yantra.base.errors import ConfigError
    from yantra.collectives import find
    from yantra.collectives.check import find_violation
    from yantra.collectives.messages import of_schedule
    from yantra.collectives.schedule import Kind

    algorithm, kind = find(name, name), Kind(collective)
    why = algorithm.supports(kind, ranks)
    if why is not None:
        raise ConfigError(name, why)
    schedule = algorithm.schedule(kind, ranks)
    wrong = find_violation(schedule)
    if wrong is not None:
        raise ConfigError(name, f"it is no {kind}: {wrong}")
    return f"{name}: {kind} over {ranks} ranks", of_schedule(schedule)


def _form(each: Message) -> dict[str, object]:
    return {"src": each.src, "dst": each.dst, "share": str(each.share), "reduce": each.reduce}


def _print(title: str, rounds: Rounds) -> None:
    from yantra.base.text import count, table

    messages = sum(len(round_) for round_ in rounds.rounds)
    sent = rounds.sent()
    least, most = f"{float(min(sent)):.4g}", f"{float(max(sent)):.4g}"
    often = most if least == most else f"{least} to {most}"
    sys.stdout.write(
        f"{title}: {count(len(rounds.rounds), 'round')}, {count(messages, 'message')}; proven\n"
        f"a member sends {often} times the data\n"
    )
    numbered = list(enumerate(rounds.rounds))
    half = _MOST_ROUNDS // 2
    shown = numbered if len(numbered) <= _MOST_ROUNDS else [*numbered[:half], *numbered[-half:]]
    cells = [
        (f"{number}", f"{len(round_)}", _shares(round_), _example(rounds, round_))
        for number, round_ in shown
    ]
    head = ("round", "messages", "share of each", "for example")
    lines = table(head, cells, left=len(head))
    if len(shown) < len(numbered):
        lines = [*lines[: half + 1], f"... {len(numbered) - len(shown)} more", *lines[half + 1 :]]
    sys.stdout.write("\n".join(lines) + "\n")


def _shares(round_: tuple[Message, ...]) -> str:
    shares = sorted({each.share for each in round_})
    return f"{shares[0]}" if len(shares) == 1 else f"{shares[0]} to {shares[-1]}"


def _example(rounds: Rounds, round_: tuple[Message, ...]) -> str:
    each = round_[0]
    how = "adds" if each.reduce else "keeps"
    return f"{rounds.members[each.src]} to {rounds.members[each.dst]}, which {how} it"
