"""A command's `--set NAME=VALUE`: options few need.

Each also is a hidden option: `--set cp_kind=a2a` is `--cp-kind a2a`. `--set help` describes them.
"""

from __future__ import annotations

from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from yantra.base.errors import did_you_mean

_SWITCH = {"true": True, "false": False, "1": True, "0": False}


class Seldom:
    """Hides the `names` among `params` behind one option;

    a command's own `--set` takes these too.
    """

    def __init__(self, params: Sequence[click.Parameter], names: Sequence[str]) -> None:
        options = [one for one in params if isinstance(one, click.Option)]
        self._known = {_key(name): one for one in options for name in one.opts}
        self.options = {name: self._known[_key(name)] for name in names}
        own = self._known.get("set")
        if own is not None:
            own.help = f"{own.help or ''} Also {', '.join(names)}, which --set help describes."
            self._known = {_key(name): one for name, one in self.options.items()}
        self.is_shared = own is not None
        for one in self.options.values():
            one.hidden = True
        self.option = click.Option(
            ["--set"],
            multiple=True,
            expose_value=False,
            metavar="NAME=VALUE",
            help=f"Set what is seldom set: {', '.join(names)}. --set help describes each; may be "
            "repeated.",
            shell_complete=lambda _context, _option, begun: [
                CompletionItem(f"{name}=") for name in names if name.startswith(begun)
            ],
        )

    def spelled_out(self, args: Sequence[str], context: click.Context) -> list[str]:
        """Return the arguments with `--set NAME=VALUE` spelled out.

        Raises click.UsageError for an unknown name.
        """
        made: list[str] = []
        rest = iter(args)
        for word in rest:
            if word == "--":
                return [*made, word, *rest]
            if word == "--set":
                text = next(rest, None)
            elif word.startswith("--set="):
                text = word.removeprefix("--set=")
            else:
                made.append(word)
                continue
            made += [word] if text is None else self._option_of(text, context)
        return made

    def _option_of(self, text: str, context: click.Context) -> list[str]:
        if text == "help":
            self._describe(context)
            context.exit()
        name, sign, value = text.partition("=")
        option = self._known.get(_key(name))
        if option is None and self.is_shared:
            return ["--set", text]
        if option is None:
            meant = did_you_mean(name, self.options)
            raise click.UsageError(f"--set: nothing is named '{name}'{meant}", context)
        if not sign:
            about = f"{option.help[:1].lower()}{option.help[1:]}" if option.help else "a value"
            raise click.UsageError(f"--set {name}: expected {name}=VALUE: {about}", context)
        flag = max(option.opts, key=len)
        if not option.is_flag:
            return [f"{flag}={value}"]
        is_on = _SWITCH.get(value)
        if is_on is None:
            raise click.UsageError(f"--set {name}: expected true or false, got '{value}'", context)
        return [flag] if is_on else option.secondary_opts[:1]

    def _describe(self, context: click.Context) -> None:
        formatter = context.make_formatter()
        formatter.write_dl([(name, self.about(name)) for name in self.options])
        click.echo(formatter.getvalue(), nl=False)

    def about(self, name: str) -> str:
        option = self.options[name]
        kind = option.type
        choices = f" {', '.join(map(str, kind.choices))}." if isinstance(kind, click.Choice) else ""
        return f"{option.help or ''}{choices}"


def _key(name: str) -> str:
    return name.lstrip("-").replace("-", "_")
