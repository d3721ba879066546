"""Problems the core finds in nodes, as one error."""

from __future__ import annotations

from yantra import _core
from yantra.base.errors import TraceError, UnsupportedError

_SHOWN = 5


def refuse(problems: list[_core.Problem], graph: _core.Graph, source: str) -> None:
    if not problems:
        return
    lines = [
        f"{source}: node {graph.id[problem.node]} '{graph.name(problem.node)}': {problem.text}"
        for problem in problems[:_SHOWN]
    ]
    if len(problems) > _SHOWN:
        from yantra.base.text import count

        lines.append(f"{source}: {count(len(problems) - _SHOWN, 'more problem')}")
    unsupported = all(problem.unsupported for problem in problems)
    raise (UnsupportedError if unsupported else TraceError)("\n".join(lines))
