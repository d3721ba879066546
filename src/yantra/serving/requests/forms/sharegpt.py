"""ShareGPT and its like: conversations as texts, without times.

Each answer is a request at time 0 that follows the one before it, and whose prompt goes on from
that. Tokens are those a turn states (`tokens`); else one for 4 characters, as OpenAI's
documentation takes for English. Trade-off: within a quarter of a tokenizer's count, without one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yantra.base.errors import ConfigError, expected_got
from yantra.base.notes import note
from yantra.serving.requests.forms.form import Columns, Form
from yantra.serving.requests.types import MOST_TOKENS, OWN

_CHARACTERS = 4  # of a token
_ANSWERS = frozenset(("gpt", "assistant", "chatgpt", "bard", "bing", "model"))


class ShareGPT(Form):
    """An object a conversation."""

    needs = {"conversations": ("conversations",)}  # noqa: RUF012
    is_document = True

    def __init__(self, names: Any) -> None:
        super().__init__(names)
        self._estimated = False

    def document(self, tree: list[Any], where: str) -> Columns:
        rows: list[tuple[int, int, int, int]] = []  # prompt, output, session, after
        spans: list[tuple[int, int]] = []
        counts: list[int] = []
        for number, one in enumerate(tree):
            place = f"{where}, conversation {number}"
            turns = one.get("conversations")
            if not isinstance(turns, list):
                problem = expected_got("a list of turns", turns)
                raise ConfigError(place, f"conversations: {problem}")
            asked, after = 0, -1
            before: list[tuple[int, int]] = []
            for at, turn in enumerate(turns):
                said = self._tokens(turn, f"{place}: conversations[{at}]")
                if turn.get("from", turn.get("role")) not in _ANSWERS:
                    asked += said
                elif asked and said:
                    before = before if after < 0 else [*before, (OWN + after, sum(rows[after][:2]))]
                    spans += before
                    counts.append(len(before))
                    rows.append((asked, said, number, after))
                    after = len(rows) - 1
                    asked += said
        if self._estimated:
            note(f"{where}: states no tokens; taken as one for {_CHARACTERS} characters")
        columns = np.array(rows, np.int64).reshape(-1, 4)
        flat = np.array(spans, np.int64).reshape(-1, 2)
        return {
            "arrival_ns": np.zeros(len(rows), np.int64),
            "prompt": columns[:, 0],
            "output": columns[:, 1],
            "session": columns[:, 2],
            "after": columns[:, 3],
            "span_count": np.array(counts, np.int64),
            "span_source": flat[:, 0],
            "span_end": flat[:, 1],
        }

    def _tokens(self, turn: Any, where: str) -> int:
        if not isinstance(turn, dict):
            raise ConfigError(where, expected_got("a turn with 'from' and 'value'", turn))
        stated = turn.get("tokens")
        if stated is not None:
            if not (type(stated) is int and 0 <= stated <= MOST_TOKENS):
                wanted = f"a whole number of tokens from 0 to {MOST_TOKENS}"
                raise ConfigError(f"{where}.tokens", expected_got(wanted, stated))
            return stated
        text = turn.get("value", turn.get("content"))
        if not isinstance(text, str):
            raise ConfigError(f"{where}.value", expected_got("a text", text))
        self._estimated = True
        return -(-len(text) // _CHARACTERS)


PLUGIN = ShareGPT
