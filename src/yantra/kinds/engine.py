"""Engines: which requests the next iteration of a served model works on."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''"""my_plugin: those that run, a token or a piece of a prompt each; then new ones.

Trade-off: a request reserves the blocks of its limit, so none loses its KV, and seats are few.
Source: Yu et al., "Orca", OSDI 2022.
"""

from yantra.plugin.engine import Engine, Plan


class MyPlugin(Engine):
    # False if requests may start out of order of arrival.
    in_order = True

    def plan(self, state):
        # Columns of numpy, a row for each request: state.running and state.waiting have request,
        # prompt, emitted, computed, left, limit, priority, user, arrival_ns, blocks. `left` tokens
        # must be computed before the next one comes, all at once or in pieces.
        run = []
        tokens, seats, blocks = state.max_num_batched_tokens, state.max_num_seqs, state.num_blocks
        for request, prompt, limit, left in [*rows(state.running), *rows(state.waiting)]:
            seats -= 1
            blocks -= state.blocks_for(prompt + limit)
            if tokens == 0 or seats < 0 or blocks < 0:
                break
            run.append((request, min(left, tokens)))
            tokens -= min(left, tokens)
        # Plan(run, preempted) also takes requests that lose their blocks and wait at the head.
        return Plan(run)


def rows(of):
    return zip(of.request, of.prompt, of.limit, of.left)


PLUGIN = MyPlugin
'''


class Engines(Kind):
    """A class derived from `yantra.plugin.engine.Engine`."""

    skeleton = SKELETON

    def registry(self) -> Registry[Any]:
        from yantra.serving.batching import engines

        return engines

    def contract(self) -> Contract:
        from yantra.kinds.engine_laws import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        rule = "poisson:rate=5/s,count=1000,isl=1024,osl=128"
        return Use(f"yantra serve --cost '5 ms, 20 us, 0.1 us' --requests {rule} --engine {file}")

    def taken_by(self, name: str) -> str:
        from yantra.serving.batching import built_in

        return f"the engine {name} of the core" if name in built_in() else super().taken_by(name)


PLUGIN = Engines
