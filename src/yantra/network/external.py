"""external: messages go to a program of their own, in lock-step with the run.

Trade-off: some tens of microseconds each time, and never folded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.errors import ConfigError
from yantra.base.fields import Choice, Quantity, Section
from yantra.base.fields.command import Command
from yantra.base.records import Record
from yantra.network.lockstep.conversation import Conversation
from yantra.network.lockstep.process import found
from yantra.network.model import Message, NetworkModel

if TYPE_CHECKING:
    from yantra.network.model import Fabric


class Options(Record):
    """Which program, who routes, and how long it may think."""

    command: tuple[str, ...]
    routes: str = "given"
    timeout_ns: float = 60e9


class External(NetworkModel):
    """messages go to a program of their own, in lock-step: your simulator, ns-3, SimGrid"""

    options = Section(
        Options,
        {
            "command": ("command", Command(), "the program and its arguments; no shell reads it"),
            "routes": (
                "routes",
                Choice(("given", "own")),
                "who says which links a message takes: the routing of the cluster, or the program",
            ),
            "timeout": (
                "timeout_ns",
                Quantity("time", "ns", at_least=1e6),
                "how long it may think about one answer",
            ),
        },
    )
    needs_fabric = True
    flow_lists = "program"

    @classmethod
    def check_options(cls, options: Options, where: str = "network.options.command") -> None:
        found(options.command[0], where)

    @classmethod
    def wants_routes(cls, options: Options) -> bool:
        return options.routes == "given"

    def __init__(self, fabric: Fabric, options: Options) -> None:
        super().__init__(fabric, options)
        if fabric.graph is None:
            raise ConfigError("network", "external runs over a graph of devices and links")
        self._program = Conversation(
            options.command,
            fabric.graph,
            gives_routes=options.routes == "given",
            timeout_s=options.timeout_ns / 1e9,
        )
        self._messages: dict[int, Message] = {}
        self._turn = 0

    def send(self, message: Message) -> None:
        if not self._program.has_unsaid:
            self._wake(self._now)
        number = self._program.send(
            self._now, message.source, message.destination, message.bytes, message.route
        )
        self._messages[number] = message

    def woken(self, token: int) -> None:
        if token != self._turn:
            return
        now, until = self._now, self._bridge.port.next
        if until == now:
            self._wake(now)
        elif not self._program.has_unsaid and self._program.next is None:
            self._wait(until)
        else:
            self._advance(until)

    def closes(self) -> None:
        self._program.close()

    def _advance(self, until: int | None) -> None:
        reply = self._program.advance(until, self._now)
        port = self._bridge.port
        for number, at in reply.left:
            port.departs(self._messages[number].number, at)
        for number, at in reply.arrived:
            port.arrives(self._messages.pop(number).number, at, at)
        if self._messages:
            self._wait(port.next) if reply.next is None else self._wake(max(reply.next, self._now))

    def _wait(self, until: int | None) -> None:
        if until is None:
            raise self._program.never_delivered()
        self._wake(until)

    def _wake(self, at: int) -> None:
        self._turn += 1
        self._bridge.wake_at_tick(at, self._turn)

    @property
    def _now(self) -> int:
        now: int = self._bridge.port.now
        return now


PLUGIN = External
