"""The commands of a shell script, and the arguments that it gives to a training program.

Nothing is executed. Read are assignments of words and lists (`A=1`, `A=(--x 1)`, `A+=(...)`), their
use (`$A`, `${A}`, `${A[@]}`, `${A:-1}`), whole-number arithmetic, quotes, comments, continued
lines, `if` and `case`, files that it writes, what `#SBATCH` asks for, scripts beside it that it
sources or runs, and the command that runs a Python program. It is taken to start without arguments
of its own; a script that it runs has those that it gives.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import takewhile
from typing import NamedTuple

from yantra.base.branches import Branches, is_ruled_out
from yantra.base.errors import ConfigError
from yantra.base.notes import note
from yantra.base.shell_files import (
    MARK,
    Here,
    Written,
    asked_of_slurm,
    without_documents,
    written_by,
)
from yantra.base.shell_values import (
    Asked,
    Function,
    asked,
    changed,
    default_of,
    usual,
    without_functions,
)
from yantra.base.whole_numbers import is_whole

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]\s]*\])?\+?=")
_ARITHMETIC: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARED: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_MOST = 2**62
_MOST_WORDS = 4096
"""Of a variable that conditions which stay open add to."""
NODE = 8
"""Devices of a usual node."""
_COUNTS_DEVICES = re.compile(
    r"(\$\(|`).*(device_count\(|nvidia-smi\b.*(-L|list-gpus|query-gpu).*\bwc\b)", re.DOTALL
)
_UNLESS_SET = re.compile(
    r'\$\(\[ -z "?\$\{?(?P<name>\w+)\}?"? \] && echo (-n )?(?P<default>\w+) \|\| '
    r'echo (-n )?"?\$\{?(?P=name)\}?"?\)'
)
"""What `${NAME:-DEFAULT}` is, written out."""
_NAMED = re.compile(r"\$\((?P<kind>basename|dirname|echo|expr) (?P<of>.*)\)", re.DOTALL)
"""Programs whose answer follows from their arguments."""
_DECLARING = ("export", "declare", "local", "readonly")
_OTHER_MODEL = re.compile(
    r"(?:^|/)(?:pretrain_(?:bert|ict|mamba|hybrid|retro|t5|vision\w*|vlm)|tasks/main)\.py$"
)
_GENERATES = re.compile(
    r"(?:^|/)(?:run_text_generation\w*|\w*inference\w*|generate_\w+|analyze_\w+|\w*evaluat\w*)\.py$"
)
_TOKEN = re.compile(
    r"(?P<comment>(?:(?<=[\s;(])|^)#[^\n]*)"
    r"|(?P<newline>\n|;+)"
    r"|(?P<space>[ \t\r]+|\\\n)"
    r"|(?P<single>'[^']*')"
    r'|(?P<double>"(?:\\.|[^"\\])*")'
    r"|(?P<computed>\$\[[^\[\]]*\]|\$\(\([^()]*(?:\([^()]*\)[^()]*)*\)\)|\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|`[^`]*`)"
    r"|(?P<variable>\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\$\w+|\$[@*#?$!-])"
    r"|(?P<test>\(\((?:[^()]|\([^()]*\))*\)\))"
    r"|(?P<open>\()|(?P<close>\))"
    r"|(?P<text>\\.|[^\s;'\"()$`\\]+|\$|.)",
    re.DOTALL,
)
_VARIABLE = re.compile(r"\$(\w+|\{.*\}|[@*#?$!-])", re.DOTALL)
_IN_QUOTES = re.compile(
    r"\$\(\(.*?\)\)|\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|`[^`]*`|\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\$\w+|\$[@*#?$!-]|\\.|[^$`\\]+|.",
    re.DOTALL,
)


_PLACEHOLDER = re.compile(r"<((?:[A-Z_]+|[A-Za-z][\w./'-]*(?: [\w./'-]+)+))>")
"""`<Specify path>` of an example, which a redirection would not be."""


_INLINE = re.compile(
    r"\b(?:ba|z)?sh[ \t]+(?:-\w+[ \t]+)*-\w*c[ \t]+"
    r"(?:'(?P<plain>[^']*[\n;&][^']*)'|\"(?P<quoted>(?:\\.|[^\"\\])*[\n;&](?:\\.|[^\"\\])*)\")"
)
"""`bash -c` with several commands."""


class Word(NamedTuple):
    """A word of a command; `doubt` is the unknown that it depends on."""

    text: str
    doubt: str = ""


_beside: ContextVar[Mapping[str, str] | None] = ContextVar("files beside a script", default=None)
_DEEPEST = 4


@contextmanager
def beside(files: Mapping[str, str]) -> Iterator[None]:
    """Within the block, scripts find others by their names in `files`."""
    before = _beside.set(files)
    try:
        yield
    finally:
        _beside.reset(before)


def started_by(words: list[str]) -> str:
    """The script that a command runs or sources; empty for other commands."""
    if words[:1] and words[0] in ("bash", "sh", "source", ".") and len(words) > 1:
        return words[1] if words[1].endswith(".sh") else ""
    return words[0] if words[:1] and words[0].endswith(".sh") else ""


def texts_of(text: str) -> str:
    """A script's text and those of the scripts that it runs or sources, to look for words in."""
    found = [text]
    for line in text.splitlines():
        words = [word for word in line.split() if not _ASSIGNMENT.match(word)]
        if len(found) <= _DEEPEST and (name := started_by(words)) and name not in found:
            found.append(_text_beside(name) or "")
    return "\n".join(found)


def _text_beside(name: str) -> str | None:
    files = _beside.get()
    try:
        return None if files is None else files[name]
    except (ConfigError, KeyError):
        return None


def commands_of(text: str) -> list[list[Word]]:
    """The commands in order, with variables put in; those of branches not taken are left out."""
    script = _Script()
    script.read(text)
    return script.commands


def settled(words: list[Word]) -> list[Word]:
    """The words of a command under a condition that is not known, taken to hold, as a note says."""
    doubts = {word.doubt for word in words if "depend on a condition" in word.doubt}
    if len(doubts) == 1 and all(word.doubt for word in words):
        (doubt,) = doubts
        note(f"{doubt}, which is taken to hold")
        return [Word(word.text, word.doubt.replace(doubt, "")) for word in words]
    return words


def written_files(text: str) -> dict[str, Written]:
    """The files that a script writes, by the names that it gives them."""
    script = _Script()
    script.read(text)
    return script.files


def training_arguments(text: str, where: str) -> tuple[list[Word], list[Word]]:
    script = _Script()
    script.read(text)
    if not script.variables and script.commands and script.commands[0][0].text.startswith("--"):
        return [], [word for command in script.commands for word in command]
    found = [
        split
        for words in (*script.commands, *script.variables.values())
        if (split := _split(words, where)) is not None
    ]
    if len({tuple(program) for _, program in found}) == 1:
        return max(found, key=lambda split: len(split[0]))
    raise ConfigError(
        where,
        f"expected one command that runs a Python program with --num-layers, got {len(found)}; "
        "give the list of its arguments instead",
    )


def _split(words: Iterable[Word], where: str) -> tuple[list[Word], list[Word]] | None:
    all_words = list(words)
    for at, word in enumerate(all_words):
        if word.text.endswith(".py"):
            program = list(takewhile(_is_argument, settled(all_words[at + 1 :])))
            if any(re.match("--num-layers(=|$)", word.text) for word in program):
                if _OTHER_MODEL.search(word.text):
                    raise ConfigError(where, f"{word.text} trains a model of another kind")
                if _GENERATES.search(word.text):
                    raise ConfigError(where, f"{word.text} trains nothing")
                return all_words[:at], program
    return None


def _is_argument(word: Word) -> bool:
    # not a redirection or the next command
    return not re.match(r"\d?[<>|&]", word.text)


class _Script:
    def __init__(self, variables: Mapping[str, list[Word]] | None = None, place: str = "") -> None:
        self.variables: dict[str, list[Word]] = dict(variables or {})
        self._place = place
        self._exported: set[str] = set()
        self._depth = place.count(", ")
        self.commands: list[list[Word]] = []
        self.files: dict[str, Written] = {}
        self._here: list[Here] = []
        self._tables: dict[str, dict[str, Word]] = {}
        self._arrays: set[str] = set()
        self._functions: dict[str, Function] = {}
        self._called: set[str] = set()
        self._branches = Branches()
        self._line = 1
        self._words: list[Word] = []
        self._word: Word | None = None
        self._list: str | None = None
        self._is_ruled_out = False
        self._sourced = ""
        self._gaps: set[int] = set()

    def read(self, text: str) -> None:
        for name, value in asked_of_slurm(text).items():
            self.variables[name] = [Word(value)]
        text, self._here = without_documents(_INLINE.sub(_in_line, text))
        text = _PLACEHOLDER.sub(lambda found: re.sub(r"[ ']", "-", found[1]), text)
        text, self._functions = without_functions(text)
        self._play(text)
        for name in self._functions.keys() - self._called if not self._place else ():
            self._call(name, [])  # by a name that is computed, perhaps

    def _play(self, text: str) -> None:
        for match in _TOKEN.finditer(text):
            self._take(match.lastgroup or "", match[0])
            self._line += match[0].count("\n")
        self._end_command()

    def _call(self, name: str, given: list[Word]) -> None:
        """Run a function of the script with arguments."""
        self._called.add(name)
        own = {str(at): [word] for at, word in enumerate(given, 1)}
        own |= {"#": [Word(str(len(given)))], "@": given}
        positions = [one for one in self.variables if one.isdecimal() or one in "#@"]
        before = {one: self.variables.pop(one) for one in positions}
        line, branches, self._branches = self._line, self._branches, Branches(self._branches)
        self.variables |= own
        function = self._functions[name]
        self._line, self._depth = function.line + 1, self._depth + 1
        self._play(function.body)
        self._line, self._depth, self._branches = line, self._depth - 1, branches
        self.variables = {one: kept for one, kept in self.variables.items() if one not in own}
        self.variables |= before

    def _take(self, kind: str, token: str) -> None:
        if kind == "single":
            self._append(token[1:-1])
        elif kind == "double":
            self._append("")
            for part in _IN_QUOTES.findall(token[1:-1]):
                self._expand(part)
        elif kind in ("variable", "computed", "text"):
            self._expand(token)
        elif kind == "test":
            holds = self._compared(token[2:-2])
            known = {True: "true", False: "false"}
            self._append(token if holds is None else known[holds])
        elif kind == "newline" and self._list is None:
            self._end_command()
            if token[:2] == ";;":
                self._branches.next_pattern()
        elif kind == "open" and self._word is not None and self._word.text.endswith("="):
            self._list, self._word = self._word.text, None
            self._is_ruled_out = is_ruled_out(
                [word.text for word in self._words], _open_doubt(self._words)
            )
            self._words = []
        elif kind == "close" and self._list is not None:
            self._end_word()
            if not self._is_ruled_out:
                self._arrays.add(self._list.rstrip("+="))
                self._assign(self._list, self._words)
            self._list, self._words = None, []
        elif kind == "close" and (self._branches.awaits_pattern or self._begins_case()):
            self._end_pattern()
        else:
            self._end_word()
            self._gaps.add(len(self._words))

    def _begins_case(self) -> bool:
        """Whether the words so far are of a `case` whose first pattern is on its line."""
        texts = [word.text for word in self._words]
        return texts[:1] == ["case"] and texts[2:3] == ["in"]

    def _end_pattern(self) -> None:
        self._end_word()
        if self._begins_case():
            texts = [word.text for word in self._words[:3]]
            self._branches.enter(texts, self._line, _open_doubt(self._words[:3]))
            self._words = self._words[3:]
        self._branches.matches("".join(word.text for word in self._words))
        self._words = []
        self._gaps = set()

    def _expand(self, token: str) -> None:
        if token.startswith("\\"):
            self._append(token[1:] if token != "\\\n" else " ")
        elif (number := self._number(token)) is not None:
            self._append(str(number))
        elif _COUNTS_DEVICES.match(token):
            note(f"{self._at_line} counts the devices of a node; taken as {NODE}")
            self._append(str(NODE))
        elif (found := _UNLESS_SET.fullmatch(token)) is not None:
            for word in self._value(f"{found['name']}:-{found['default']}"):
                self._append(word.text, word.doubt)
        elif (named := self._answered(token)) is not None:
            self._append(named.text, named.doubt)
        elif re.match(r"\$\(|`", token):
            self._append("", f"{self._at_line} computes it")
        elif _VARIABLE.fullmatch(token):
            inner = token[2:-1] if token.startswith("${") else token[1:]
            for word in self._value(inner):
                self._append(word.text, word.doubt)
        else:
            self._append(token)

    def _number(self, token: str) -> int | None:
        """Of `$((...))` and its old form `$[...]`; None for others."""
        if token.startswith("$(("):
            return self._computed(token[3:-2])
        return self._computed(token[2:-1]) if token.startswith("$[") else None

    def _answered(self, token: str) -> Word | None:
        """What `basename`, `dirname`, `echo` or `expr` prints; None for others."""
        found = _NAMED.fullmatch(token if token[0] != "`" else f"$({token[1:-1]})")
        if found is None or "|" in found["of"]:
            return None
        words = self._words_of(found["of"])
        texts = [word.text for word in words if not re.match(r"\d?>", word.text)]
        doubt = next((word.doubt for word in words if word.doubt), "")
        if not texts:
            return None
        if found["kind"] == "expr":
            number = None if doubt else self._computed(" ".join(texts))
            return None if number is None else Word(str(number))
        if found["kind"] == "echo":
            return Word(" ".join(texts), doubt)
        path = texts[0].rstrip("/")
        if found["kind"] == "dirname":
            return Word(path.rpartition("/")[0] or ".", doubt)
        return Word(path.rpartition("/")[2].removesuffix("".join(texts[1:2])), doubt)

    def _words_of(self, text: str) -> list[Word]:
        """The words of a part of a command, with variables put in."""
        kept = self._words, self._word
        self._words, self._word = [], None
        for match in _TOKEN.finditer(text):
            self._take(match.lastgroup or "", match[0])
        self._end_word()
        found, (self._words, self._word) = self._words, kept
        return found

    @property
    def _at_line(self) -> str:
        return f"{self._place}line {self._line}"

    def _value(self, text: str) -> list[Word]:
        wanted = asked(text)
        known = self._known(wanted)
        operator, otherwise = default_of(wanted.rest)
        is_set = known is not None and any(word.text or word.doubt for word in known)
        if operator[-1:] == "+":
            return self._words_of(otherwise) if is_set else []
        if operator[-1:] in ("-", "=") and operator and not is_set:
            if known is not None and operator[0] != ":":
                return known
            words = self._words_of(otherwise) or [Word("")]
            if operator[-1] == "=":
                self.variables[wanted.name] = words
            return self._spaced(words)
        if known is None:
            if value := usual(wanted.name):
                told = f"{self._at_line} uses ${wanted.name}, which the script does not set"
                note(f"{told}; taken as {value}")
                return [Word(value)]
            return [self._unset(wanted.name)]
        if wanted.is_counted:
            return [Word(str(len(known)))]
        if wanted.rest and not operator:
            return self._spaced([self._changed(word, wanted.rest) for word in known])
        return self._spaced(known)

    def _known(self, wanted: Asked) -> list[Word] | None:
        """The words of a variable, or of an element of an array; None if not set."""
        name, key = wanted.name, wanted.key
        known = self.variables.get(name, [Word("0")] if name == "#" else None)
        if key is None or key in "@*":
            return list(self._tables[name].values()) if name in self._tables else known
        key = "".join(word.text for word in self._words_of(key))
        if name in self._tables:
            found = self._tables[name].get(key)
            return None if found is None else [found]
        at = key if key.lstrip("-").isdecimal() else str(self._computed(key))
        if known is None or not at.lstrip("-").isdecimal():
            return None
        if name not in self._arrays and at == "0":
            return known
        return [known[int(at)]] if -len(known) <= int(at) < len(known) else None

    def _unset(self, name: str) -> Word:
        may = f", as {self._sourced}, which it sources, may" if self._sourced else ""
        told = f"{self._at_line} uses ${name}, which the script does not set{may}"
        if name.isdecimal():
            told += ": give it in a script beside this one that runs it"
        return Word("", told)

    def _changed(self, word: Word, rest: str) -> Word:
        made = changed(word.text, rest, lambda part: "".join(
            one.text for one in self._words_of(part)))  # fmt: skip
        return Word("", f"{self._at_line} computes it") if made is None else Word(made, word.doubt)

    @staticmethod
    def _spaced(words: list[Word]) -> list[Word]:
        return [piece for word in words for piece in (Word(" "), word)][1:]

    def _compared(self, text: str) -> bool | None:
        """Whether `((...))` holds; None where a number in it is not known."""
        count = "".join(word.text for word in self.variables.get("#", [Word("0")]))
        text = text.replace("$#", count).replace('"', "")
        text = text.replace("&&", " and ").replace("||", " or ")
        made = self._with_numbers(re.sub(r"!(?!=)", " not ", text))
        try:
            return None if made is None else _truth(ast.parse(made.strip(), mode="eval").body)
        except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
            return None

    def _computed(self, text: str) -> int | None:
        """A sum, difference, product, quotient or remainder of known whole numbers, or None."""
        made = self._with_numbers(text)
        try:
            return None if made is None else _evaluated(ast.parse(made.strip(), mode="eval").body)
        except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
            return None

    def _with_numbers(self, text: str) -> str | None:
        """An expression with the numbers of its variables; None where one is not known."""
        pieces = []
        for piece in re.findall(r"\$?\{?[A-Za-z_]\w*(?::-\w+)?\}?|[^A-Za-z_$]+|.", text):
            if re.match(r"\$?\{?[A-Za-z_]", piece) and piece not in ("and", "or", "not"):
                words = self._value(piece.strip("${}"))
                if len(words) != 1 or words[0].doubt or not is_whole(words[0].text):
                    return None
                piece = words[0].text
            pieces.append(piece)
        return "".join(pieces)

    def _append(self, text: str, doubt: str = "") -> None:
        pieces = re.split(r"\s+", text)
        before = self._word or Word("")
        self._word = Word(before.text + pieces[0], before.doubt or doubt)
        for piece in pieces[1:]:
            self._end_word()
            self._word = Word(piece, doubt if piece else "")

    def _end_word(self) -> None:
        if self._word is not None:
            self._words.append(self._word)
        self._word = None

    def _end_command(self) -> None:
        self._end_word()
        words, self._words = self._words, []
        gaps, self._gaps = self._gaps, set()
        at = self._branches.enter([word.text for word in words], self._line, _open_doubt(words))
        self._loop(words)
        words = words[at:]
        if not words or self._branches.skipped:
            return
        if words[0].text in _DECLARING:
            if words[0].text == "export":
                self._exported |= {word.text.partition("=")[0] for word in words[1:]}
            words, at = words[1:], at + 1
        ends = sorted(gap - at for gap in gaps if at < gap < at + len(words))
        own: set[str] = set()
        while ends and _ASSIGNMENT.match(words[0].text):  # of the environment of what follows
            name, _, first = words[0].text.partition("=")
            own.add(name)
            self._assign(f"{name}=", [Word(first, words[0].doubt), *words[1 : ends[0]]])
            words, ends = words[ends[0] :], [end - ends[0] for end in ends[1:]]
        if words and _ASSIGNMENT.match(words[0].text):
            name, _, first = words[0].text.partition("=")
            self._assign(f"{name}=", [Word(first, words[0].doubt), *words[1:]])
        elif words and (words[0].text in self._functions or self._is_script(words, own)):
            if words[0].text in self._functions and self._depth < _DEEPEST:
                self._call(words[0].text, words[1:])
            return
        elif words and words[0].text in ("source", ".") and len(words) > 1:
            if not words[1].text.endswith("activate"):
                self._sourced = words[1].text
        elif kept := [self._doubted(word) for word in words if word.text or word.doubt]:
            self._write([word.text for word in kept])
            self.commands.append([word for word in kept if not word.text.startswith(MARK)])

    def _is_script(self, words: list[Word], own: set[str]) -> bool:
        """Whether a command runs or sources a script beside, which is read then."""
        name = started_by([word.text for word in words])
        text = _text_beside(name) if name and self._depth < _DEEPEST else None
        if text is None or self._branches.doubt:
            return False
        is_sourced = words[0].text in ("source", ".")
        given = list(takewhile(_is_argument, words[1 if words[0].text == name else 2 :]))
        seen = self.variables
        if not is_sourced:
            seen = {one: seen[one] for one in (*self._exported, *own) if one in seen}
        if given or not is_sourced:
            seen = seen | {str(at): [word] for at, word in enumerate(given, 1)}
            seen |= {"#": [Word(str(len(given)))], "@": given} if given else {}
        inner = _Script(seen, f"{self._place}{name}, ")
        inner.read(text)
        self.commands += inner.commands
        self.files |= inner.files
        if is_sourced:
            self.variables |= inner.variables
        return True

    def _write(self, texts: list[str]) -> None:
        if (found := written_by(texts, self._here, self._expanded)) is not None:
            self.files[found[0]] = found[1]

    def _expanded(self, text: str) -> str:
        """The text of a here-document, with the variables that are known put in."""
        made = []
        for part in _IN_QUOTES.findall(text):
            words = self._value(part[1:].strip("{}")) if _VARIABLE.fullmatch(part) else None
            made.append(part if words is None else " ".join(word.text for word in words))
        return "".join(made)

    def _loop(self, words: list[Word]) -> None:
        """The variable of `for`: its one value, or the first of several, in doubt."""
        texts = [word.text for word in words]
        if texts[:1] != ["for"] or texts[2:3] != ["in"] or len(texts) < 4:
            return
        if len(texts) > 4 and texts[3] and not texts[3].startswith("$"):
            note(f"{self._at_line} takes several in turn; read with the first, {texts[3]}")
        self.variables[texts[1]] = [words[3]]

    def _assign(self, target: str, words: list[Word]) -> None:
        if self._branches.skipped:
            return
        name = target.removesuffix("=").removesuffix("+")
        if name.endswith("]"):
            name, _, key = name[:-1].partition("[")
            self._tables.setdefault(name, {})[key] = self._doubted((words or [Word("")])[0])
            return
        if words and words[0].text.startswith("[") and name in self._arrays:
            pairs = [word.text[1:].partition("]=") for word in words]
            self._tables[name] = {key: Word(value, word.doubt) for word, (key, _, value)
                                  in zip(words, pairs, strict=True)}  # fmt: skip
            return
        kept = self.variables.get(name, [])
        words = [word for word in words if word.text or word.doubt]
        if self._branches.doubt:
            texts, now = ([word.text for word in some] for some in (kept, words))
            if kept and now[: len(kept)] == texts:
                words = words[len(kept) :]
            elif kept and now[: len(kept) - 1] == texts[:-1] and _grows(texts, now):
                kept, words = kept[:-1], words[len(kept) - 1 :]
            elif len(kept) + len(words) > _MOST_WORDS:
                kept = []
        elif not target.endswith("+="):
            kept = []
        self.variables[name] = [*kept, *map(self._doubted, words)]

    def _doubted(self, word: Word) -> Word:
        return word if word.doubt else Word(word.text, self._branches.doubt)


def _grows(before: list[str], now: list[str]) -> bool:
    """Whether the last word begins with what it was."""
    return len(now) >= len(before) and now[len(before) - 1].startswith(before[-1])


def _in_line(match: re.Match[str]) -> str:
    """The commands that `bash -c` runs, as if they were the script's own."""
    if match["plain"] is not None:
        return f";{match['plain']};"
    return ";" + re.sub(r"\\([$`\"\\])", r"\1", match["quoted"]) + ";"


def _truth(node: ast.expr) -> bool:
    if isinstance(node, ast.BoolOp):
        holds = [_truth(one) for one in node.values]
        return all(holds) if isinstance(node.op, ast.And) else any(holds)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _truth(node.operand)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
        sides = _evaluated(node.left), _evaluated(node.comparators[0])
        return _COMPARED[type(node.ops[0])](*sides)
    return _evaluated(node) != 0


def _evaluated(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) < _MOST:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        found = _ARITHMETIC[type(node.op)](_evaluated(node.left), _evaluated(node.right))
        if 0 <= found < _MOST:
            return found
    raise ValueError("not arithmetic of whole numbers from 0")


def _open_doubt(words: list[Word]) -> str:
    """Of a condition, in which the arguments of the script itself are left out."""
    doubts = (word.doubt for word in words if word.doubt)
    return next((one for one in doubts if "which the script does not set" not in one), "")
