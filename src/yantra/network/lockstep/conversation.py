"""What Yantra and a network program say to each other, version 1; every rule is checked here.

Yantra gives the fabric, then messages, and lets the program advance; it stops at the first arrival
and says until when none will come (`next`): conservative synchronisation with lookahead (Chandy and
Misra, "Distributed simulation", IEEE TSE 1979, section 4). docs/reference/external-networks.md
defines every line; it and this file change together, with VERSION. Times are whole ps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.network.lockstep.process import Process, shown

if TYPE_CHECKING:
    from yantra.fabric.graphs.graph import Graph

VERSION = 1
NEVER = "never"
_MOST_DIGITS = 18  # 10^18 ps are 11 days


class Reply(NamedTuple):
    """What a program answers to `advance`.

    `left` and `arrived` are (message, time) pairs, `clock` is its time; before `next` it reports
    nothing unless sent more; None is never.
    """

    left: list[tuple[int, int]]
    arrived: list[tuple[int, int]]
    clock: int
    next: int | None


class Sent(NamedTuple):
    """A message under way: its ends, its bytes, when it starts."""

    source: int
    destination: int
    bytes: int
    at: int


class Conversation:
    def __init__(
        self,
        command: tuple[str, ...],
        graph: Graph,
        *,
        gives_routes: bool,
        timeout_s: float,
        where: str = "network.options.command",
    ) -> None:
        self._process = Process(command, timeout_s, where)
        self._unsaid: list[str] = []
        self._sent = 0
        self.clock = 0
        self._left: dict[int, int] = {}
        self.under_way: dict[int, Sent] = {}
        self.next: int | None = None
        self.name = self._process.name
        self.adds_overhead = False
        try:
            self._begin(graph, gives_routes)
        except BaseException:
            self._process.kill()
            raise

    @property
    def has_unsaid(self) -> bool:
        return bool(self._unsaid)

    def send(self, at: int, source: int, destination: int, size: int, route: Sequence[int]) -> int:
        number = self._sent
        self._sent += 1
        self.under_way[number] = Sent(source, destination, size, at)
        links = "".join(f" {link}" for link in route)
        self._unsaid.append(f"send {at} {number} {source} {destination} {size}{links}\n")
        return number

    def advance(self, until: int | None, now: int) -> Reply:
        """Let it advance, at most to `until` (None: as far as it wants); the run is at `now`.

        Raises UnsupportedError where it breaks a rule, or has nothing to come with messages under
        way.
        """
        limit = NEVER if until is None else str(until)
        asked = f"'advance {limit}'"
        text = "".join(self._unsaid) + f"advance {limit}\n"
        self._unsaid.clear()
        lines = self._process.ask(text, _ends_an_answer, asked, 2 * len(self.under_way) + 1)
        reply = self._understood(lines)
        self._check(reply, until, now, asked)
        for message, at in reply.left:
            self._left[message] = at
        for message, _ in reply.arrived:
            del self.under_way[message]
            self._left.pop(message, None)
        self.clock = reply.clock
        self.next = reply.next
        return reply

    def close(self) -> None:
        self._process.end("end\n")

    def never_delivered(self) -> UnsupportedError:
        number, first = next(iter(self.under_way.items()))
        what = f"message {number} of {first.bytes} B from {first.source} to {first.destination}"
        others = len(self.under_way) - 1
        more = f", nor {others} more" if others else ""
        return self._process.error(
            f"it never delivers {what}, sent at {first.at} ps{more}: it says that nothing is to "
            "come"
        )

    def _begin(self, graph: Graph, gives_routes: bool) -> None:
        lines = self._process.ask(
            _described(graph, gives_routes), _ends_a_greeting, "'begin'", most_lines=1
        )
        first = lines[0].split()
        if first[:1] not in (["ready"], ["error"]):
            raise self._wrong(lines[0], f"'ready {VERSION}' as the answer to 'begin'")
        self._refused(lines[0])
        if len(first) < 2 or first[1] != str(VERSION):
            version = first[1] if len(first) > 1 else "no version"
            problem = f"it speaks version {version} of the protocol; expected {VERSION}"
            raise self._process.error(problem)
        for word in first[2:]:
            if word != "overhead":
                raise self._wrong(lines[0], f"'ready {VERSION}' or 'ready {VERSION} overhead'")
        self.adds_overhead = "overhead" in first[2:]

    def _understood(self, lines: list[str]) -> Reply:
        left: list[tuple[int, int]] = []
        arrived: list[tuple[int, int]] = []
        for line in lines[:-1]:
            words = line.split()
            if len(words) != 3 or words[0] not in ("left", "arrived"):
                raise self._wrong(line, "'left MESSAGE TIME', 'arrived MESSAGE TIME' or 'done ...'")
            told = left if words[0] == "left" else arrived
            told.append((self._number(words[1], line), self._number(words[2], line)))
        self._refused(lines[-1])
        last = lines[-1].split()
        if len(last) != 3:
            raise self._wrong(lines[-1], "'done CLOCK NEXT'")
        until = None if last[2] == NEVER else self._number(last[2], lines[-1])
        return Reply(left, arrived, self._number(last[1], lines[-1]), until)

    def _check(self, reply: Reply, until: int | None, now: int, asked: str) -> None:
        clock = reply.clock
        if clock < self.clock:
            raise self._process.error(f"its clock went back from {self.clock} to {clock} ps")
        if until is not None and clock > until:
            raise self._process.error(f"its clock overtook: it is at {clock} ps after {asked}")
        if reply.next is not None and reply.next < clock:
            problem = (
                f"its clock is at {clock} ps, and its next event at {reply.next} ps, before that"
            )
            raise self._process.error(problem)
        leaves: dict[int, int] = {}
        for message, at in reply.left:
            self._check_told(message, at, "left", clock, now)
            if message in self._left or message in leaves:
                raise self._process.error(f"it lets message {message} leave twice")
            leaves[message] = at
        arrivals: set[int] = set()
        for message, at in reply.arrived:
            if message in arrivals:
                raise self._process.error(f"it delivers message {message} twice")
            arrivals.add(message)
            self._check_told(message, at, "arrived", clock, now)
            left = leaves.get(message, self._left.get(message, 0))
            if at < left:
                problem = f"message {message} arrives at {at} ps, before it leaves at {left} ps"
                raise self._process.error(problem)
        self._check_progress(reply, until, asked)

    def _check_told(self, message: int, at: int, what: str, clock: int, now: int) -> None:
        sent = self.under_way.get(message)
        if sent is None and message < self._sent:
            raise self._process.error(f"it delivers message {message} twice")
        if sent is None:
            last = f"the last one is {self._sent - 1}" if self._sent else "there is none yet"
            raise self._process.error(f"it names message {message}, which is unknown; {last}")
        if at < sent.at:
            problem = f"message {message}, sent at {sent.at} ps, {what} at {at} ps, before that"
            raise self._process.error(problem)
        if at < clock:
            problem = f"it went on to {clock} ps before it said that message {message} {what} at"
            raise self._process.error(f"{problem} {at} ps; it must stop there")
        if at < now:
            promised = "the end" if self.next is None else f"{self.next} ps"
            problem = f"it says that message {message} {what} at {at} ps, after the run went on to"
            promise = f"it had said that nothing comes before {promised}"
            raise self._process.error(f"{problem} {now} ps; {promise}")

    def _check_progress(self, reply: Reply, until: int | None, asked: str) -> None:
        if reply.left or reply.arrived:
            return
        if reply.next is None and until is None and self.under_way:
            raise self.never_delivered()
        if reply.next is not None and (until is None or reply.clock < until):
            problem = f"it stopped at {reply.clock} ps after {asked} and reported nothing"
            raise self._process.error(f"{problem}; it stops early only where a message arrives")

    def _number(self, word: str, line: str) -> int:
        if not word.isdigit() or len(word) > _MOST_DIGITS:
            raise self._wrong(line, f"whole numbers of at most {_MOST_DIGITS} digits")
        return int(word)

    def _refused(self, line: str) -> None:
        word, _, text = line.partition(" ")
        if word == "error":
            raise self._process.error(f"it says: {text.strip() or 'error'}")

    def _wrong(self, line: str, expected: str) -> UnsupportedError:
        return self._process.error(f"it wrote {shown(line)}; expected {expected}")


def _ends_an_answer(line: str) -> bool:
    return line.partition(" ")[0] in ("done", "error")


def _ends_a_greeting(_line: str) -> bool:
    return True


def _described(graph: Graph, gives_routes: bool) -> str:
    from yantra.fabric.graphs.graph import DeviceKind

    links = graph.links
    parts = [f"yantra-network {VERSION}\n", f"fabric {graph.devices} {len(links.start)}\n"]
    names = {int(kind): kind.name.lower() for kind in DeviceKind}
    parts += [f"device {at} {names[kind]}\n" for at, kind in enumerate(graph.kinds.tolist())]
    columns = (links.start, links.end, links.bytes_per_ns, links.latency_ns)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    parts += [f"link {at} {a} {b} {rate!r} {ns!r}\n" for at, (a, b, rate, ns) in enumerate(rows)]
    parts += [f"routes {'given' if gives_routes else 'own'}\n", "begin\n"]
    return "".join(parts)
