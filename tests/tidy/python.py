"""What tidy tests read of Python: its statements, without the expressions in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_HOLDS_STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)


def statements(text: str) -> Iterator[ast.Module | ast.stmt]:
    """The module and all of its statements; nobody keeps its tree, which would cost ever more."""
    left: list[ast.AST] = [ast.parse(text)]
    while left:
        node = left.pop()
        if isinstance(node, ast.Module | ast.stmt):
            yield node
        left += (one for one in ast.iter_child_nodes(node) if isinstance(one, _HOLDS_STATEMENTS))
