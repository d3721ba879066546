"""One body of laws for every network, and networks that break one each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import identities
from yantra.base.errors import DeadlockError
from yantra.base.fields import Number, Plugin, Section
from yantra.base.records import Record
from yantra.kinds.network_laws import TOPOLOGIES, Case, main, violations
from yantra.network import find, names
from yantra.network.model import Message, NetworkModel
from yantra.run.simulate import run


class Twin(NetworkModel):
    def delay_ns(self, message: Message) -> float:
        return self.fabric.alone_ns(message)


class OneAtATime(NetworkModel):
    def __init__(self, fabric: Any, options: Any) -> None:
        super().__init__(fabric, options)
        self.free_ns = [0.0] * fabric.ranks

    def send(self, message: Message) -> None:
        start = max(message.sent_ns, self.free_ns[message.source])
        done = start + self.fabric.alone_ns(message)
        self.free_ns[message.source] = done
        self.wake_at(done, message)

    def woken(self, token: Message) -> None:
        self.arrive(token, self.now_ns)


class ForgetsOddRanks(NetworkModel):
    def send(self, message: Message) -> None:
        if message.destination % 2 == 0:
            self.arrive(message, message.sent_ns + self.fabric.alone_ns(message))


class ForgetsBytes(NetworkModel):
    def delay_ns(self, message: Message) -> float:
        return 500.0


class LargeFirst(NetworkModel):
    def delay_ns(self, message: Message) -> float:
        hops = self.fabric.crossings(message.source, message.destination)
        extra = 0.0 if len(hops) == 1 and hops[0].hops == 1 else 1e9 / message.bytes
        return self.fabric.alone_ns(message) + extra


class OneForAll(OneAtATime):
    def send(self, message: Message) -> None:
        super().send(message._replace(source=0))


class EverSlower(Twin):
    runs = 0

    def __init__(self, fabric: Any, options: Any) -> None:
        super().__init__(fabric, options)
        type(self).runs += 1

    def send(self, message: Message) -> None:
        several = message.bytes not in (1, 1000, 65_536, 10**7, 4321)
        late = self.runs if several else 0
        self.arrive(message, message.sent_ns + self.fabric.alone_ns(message) + late)


class Fails(NetworkModel):
    def send(self, message: Message) -> None:
        raise ValueError("no way to rank 1")


class InThePast(NetworkModel):
    def delay_ns(self, message: Message) -> float:
        return -1.0


class Acknowledged(NetworkModel):
    """A send ends when an answer is back: a latency after its message has arrived."""

    back_ns = 700.0

    def send(self, message: Message) -> None:
        arrives = message.sent_ns + self.fabric.alone_ns(message)
        self.arrive(message, arrives, arrives + self.back_ns)


@pytest.mark.parametrize("dimensions", TOPOLOGIES)
def test_a_send_may_end_after_its_message_has_arrived(
    dimensions: tuple[tuple[str, int, float, float], ...],
) -> None:
    case = Case(Acknowledged, dimensions)
    posts = [post for post in case.every_pair for _ in range(3)]
    sends, receives = (
        case.ends(what, case.messages(posts), len(posts)) for what in ("send", "receive")
    )
    for post, sent, received in zip(posts, sends, receives, strict=True):
        assert received == pytest.approx(case.alone_ns(post), abs=0.002)
        assert sent == pytest.approx(received + Acknowledged.back_ns, abs=0.002)


def test_what_waits_for_a_late_end_of_a_send_begins_then() -> None:
    case = Case(Acknowledged, TOPOLOGIES[0])
    posts = [(0, 1, 1000), (0, 2, 3000), (0, 1, 1000)]
    ends = case.arrivals(posts, one_by_one=True)
    times = [case.alone_ns(post) for post in posts]
    waits = [0.0, times[0] + 700.0, times[0] + times[1] + 1400.0]
    assert ends == pytest.approx([time + wait for time, wait in zip(times, waits, strict=True)])


class DepartsAtOnce(Twin):
    def send(self, message: Message) -> None:
        self.arrive(message, message.sent_ns + self.fabric.alone_ns(message), message.sent_ns)


class LosesTheQueued(OneAtATime):
    """Of what waits behind another of its pair, all but the first is forgotten."""

    def __init__(self, fabric: Any, options: Any) -> None:
        super().__init__(fabric, options)
        self.lines: dict[tuple[int, int], list[Message]] = {}

    def send(self, message: Message) -> None:
        pair = (message.source, message.destination)
        if pair in self.lines:
            self.lines[pair].append(message)
            return
        self.lines[pair] = []
        self.wake_at(self.now_ns + self.fabric.alone_ns(message), message)

    def woken(self, token: Message) -> None:
        self.arrive(token, self.now_ns)
        pair = (token.source, token.destination)
        line = self.lines.pop(pair)
        if len(line) > 1:
            self.lines[pair] = line[1:]
            self.wake_at(self.now_ns + self.fabric.alone_ns(line[0]), line[0])


class NeverFree(OneAtATime):
    def __init__(self, fabric: Any, options: Any) -> None:
        super().__init__(fabric, options)
        self.lines: dict[tuple[int, int], list[Message]] = {}

    def send(self, message: Message) -> None:
        pair = (message.source, message.destination)
        self.lines.setdefault(pair, []).append(message)
        if self.lines[pair] == [message]:
            self.wake_at(self.now_ns + self.fabric.alone_ns(message), message)

    def woken(self, token: Message) -> None:
        self.arrive(token, self.now_ns)
        line = self.lines[token.source, token.destination]
        if len(line) > 1:
            line.pop(0)
            self.wake_at(self.now_ns + self.fabric.alone_ns(line[0]), line[0])


@pytest.mark.parametrize("name", [name for name in names() if find(name).runs_by_name])
def test_every_registered_network_keeps_every_law(name: str) -> None:
    assert list(violations(name)) == []


@pytest.mark.parametrize("network", [Twin, OneAtATime, Acknowledged])
def test_networks_in_python_can_keep_every_law(network: type[NetworkModel]) -> None:
    assert list(violations(network)) == []


@pytest.mark.parametrize(
    ("network", "said"),
    [
        (ForgetsOddRanks, "every_message_arrives"),
        (ForgetsBytes, "a_message_alone_takes_its_latency_and_its_bytes"),
        (LargeFirst, "more_bytes_arrive_no_earlier"),
        (LosesTheQueued, "several_messages_of_a_pair_arrive"),
        (NeverFree, "messages_that_depend_on_each_other_arrive"),
        (DepartsAtOnce, "a_message_in_parts_takes_no_less_than_the_whole"),
        (OneForAll, "messages_that_share_no_rank_and_no_link_do_not_wait"),
        (EverSlower, "the_same_run_twice_is_the_same"),
        (Fails, "the network Fails failed: ValueError: no way to rank 1"),
        (InThePast, "gives a time of -1"),
    ],
)
def test_a_network_that_breaks_a_law_is_caught_by_its_name(
    network: type[NetworkModel], said: str
) -> None:
    assert any(said in violation for violation in violations(network))


@pytest.mark.parametrize("dimensions", TOPOLOGIES)
def test_a_network_in_python_equals_the_level_that_it_copies(
    dimensions: tuple[tuple[str, int, float, float], ...],
) -> None:
    ours, theirs = (Case(kind, dimensions).all_reduce(123_457) for kind in (Twin, "analytical"))
    assert list(ours.finish_ps) == list(theirs.finish_ps)
    assert [use[:6] for use in ours.dimension_uses] == [use[:6] for use in theirs.dimension_uses]


def test_a_recording_on_a_network_in_python_has_a_path_without_gaps() -> None:
    model = Case(OneAtATime, TOPOLOGIES[2]).all_reduce(50_000).model
    identities.hold(run(model, record=True))


class Weighted(Record):
    factor: float = 1.0


class Slower(NetworkModel):
    options = Section(Weighted, {"factor": ("factor", Number(at_least=1), "times the delay")})

    def delay_ns(self, message: Message) -> float:
        return float(self.given.factor) * self.fabric.alone_ns(message)


def test_options_reach_a_network_in_python() -> None:
    case = Case(Slower, TOPOLOGIES[0])
    alone = case.arrivals([(0, 1, 1000)])[0]
    case.kind = Plugin(kind=Slower, options=(("factor", 3.0),))  # type: ignore[assignment]
    assert case.arrivals([(0, 1, 1000)]) == [3 * alone]


def test_a_deadlock_says_how_many_messages_the_network_has_lost() -> None:
    case = Case(LosesTheQueued, TOPOLOGIES[0])
    with pytest.raises(DeadlockError) as found:
        case.arrivals([(0, 1, 1000)] * 3 + [(2, 3, 1000)] * 2)
    lost = "2 messages were given to the network LosesTheQueued and did not arrive"
    assert str(found.value).splitlines()[1].startswith(lost)


def test_the_command_says_which_laws_hold_and_fails_where_one_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ideal"]) == 0
    assert "every law holds" in capsys.readouterr().out
    wrong = tmp_path / "instant.py"
    wrong.write_text(
        "from yantra.network.model import NetworkModel\n"
        "class Instant(NetworkModel):\n"
        "    def delay_ns(self, message):\n"
        "        return 0.0\n"
        "PLUGIN = Instant\n"
    )
    assert main([str(wrong)]) == 1
    assert "a_message_alone_takes_its_latency_and_its_bytes" in capsys.readouterr().out
    assert main(["nowhere"]) == 2
