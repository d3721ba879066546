"""Reading and proving MSCCL programs: each mistake is refused with its line and its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.collectives.msccl import parse_program, prove, read_program
from yantra.collectives.msccl import races as race_module

ALGO = {"name": "pair", "nchannels": 2, "ngpus": 2, "coll": "allgather", "inplace": 1}
NO_DEP = {"depid": -1, "deps": -1, "hasdep": 0}


def step(s: int, kind: str, at: int, **changes: Any) -> str:
    given = {"s": s, "type": kind, "srcbuf": "o", "srcoff": at, "dstbuf": "o", "dstoff": at}
    return _tag("step", given | {"cnt": 1} | NO_DEP | changes) + "/>"


def block(id: int, send: int, recv: int, *steps: str, chan: int = 0) -> str:
    begin = _tag("tb", {"id": id, "send": send, "recv": recv, "chan": chan})
    return "\n".join([begin + ">", *steps, "</tb>"])


def gpu(id: int, *blocks: str, sizes: tuple[int, int, int] = (0, 2, 1)) -> str:
    chunks = dict(zip(("i_chunks", "o_chunks", "s_chunks"), sizes, strict=True))
    return "\n".join([_tag("gpu", {"id": id} | chunks) + ">", *blocks, "</gpu>"])


def program(*gpus: str, **changes: Any) -> str:
    return "\n".join([_tag("algo", ALGO | changes) + ">", *gpus, "</algo>"])


def _tag(name: str, attributes: dict[str, Any]) -> str:
    given = {key: value for key, value in attributes.items() if value is not None}
    return f"<{name} " + " ".join(f'{key}="{value}"' for key, value in given.items())


LEFT = gpu(0, block(0, 1, 1, step(0, "s", 0), step(1, "r", 1)))
RIGHT = gpu(1, block(0, 0, 0, step(0, "s", 1), step(1, "r", 0)))
PAIR = program(LEFT, RIGHT)


def _left(*blocks: str, sizes: tuple[int, int, int] = (0, 2, 1)) -> str:
    return program(gpu(0, *blocks, sizes=sizes), RIGHT)


def test_two_gpus_exchange_their_shards() -> None:
    proof = prove(parse_program(PAIR.encode()))
    assert proof.chunks == 1
    assert proof.lines == (
        "messages: all 2 have a sender and a receiver, over 2 connections",
        "deadlock: none; the longest chain has 2 of 4 steps",
        "memory: no step leaves its buffers or reads what nothing has written",
        "races: none; every order of the steps gives the same data",
        "result: every GPU holds the shards of all, called in place",
    )


def test_a_collective_of_the_user_is_not_proven_and_says_so() -> None:
    custom = program(LEFT, RIGHT, coll="custom")
    assert prove(parse_program(custom.encode())).lines[-1] == (
        "result: not proven, as custom promises nothing; --collective names one to prove"
    )
    named = prove(parse_program(custom.encode()), "all_gather")
    assert named.lines[-1] == "result: every GPU holds the shards of all, called in place"


def test_a_program_for_both_kinds_of_call_is_proven_for_both() -> None:
    def one(me: int, other: int) -> str:
        places = {"srcbuf": "i", "dstbuf": "o"}
        steps = (step(0, "s", me, **places, srcoff=0), step(1, "r", other, **places, srcoff=0))
        keep = step(0, "cpy", me, **places, srcoff=0)
        return gpu(me, block(0, other, other, *steps), block(1, -1, -1, keep), sizes=(1, 2, 0))

    both = program(one(0, 1), one(1, 0), outofplace=1)
    lines = prove(parse_program(both.encode())).lines
    assert (
        lines[-1] == "result: every GPU holds the shards of all, called in place and out of place"
    )


REFUSED_TEXT = {
    "": "1: this is not well-formed XML: no element found",
    "<algo": "1: this is not well-formed XML: unclosed token",
    PAIR + "\n" + PAIR: "15: this is not well-formed XML: junk after document element; "
    "a file holds one <algo>",
    '<!DOCTYPE algo [<!ENTITY a "b">]>\n' + PAIR: "1: a document type (algo) is not read; "
    "take the <!DOCTYPE> out of the file",
    "<gpu/>": "1: expected <algo>, got <gpu>",
    program("<tb/>"): "2: expected <gpu> in <algo>, got <tb>",
    program(LEFT, RIGHT).replace("</gpu>", "x</gpu>"): '7: expected only elements, got "x" as text',
    program(LEFT, RIGHT, extra=1): "1: <algo> has no attribute extra",
    program(LEFT, RIGHT, n_channels=1): "1: <algo> has no attribute n_channels; did you mean "
    "'nchannels'?",
    program(LEFT, RIGHT, coll=None): "1: <algo> lacks the attribute coll",
    program(LEFT, RIGHT, ngpus="two"): "1: attribute ngpus of <algo>: expected a whole number from "
    '1 to 2147483647, got "two"',
    program(
        LEFT, RIGHT, inplace=0, outofplace=0
    ): "1: inplace and outofplace are both 0; a program serves at least one kind of call",
    program(LEFT, RIGHT, minBytes=-1): "1: attribute minBytes of <algo>: expected a whole number "
    'from 0 to 9223372036854775807, got "-1"',
    program(LEFT): "1: ngpus is 2, but there are 1 <gpu> elements",
    program(LEFT, LEFT): "8: <gpu> 0 is on line 2 already",
    _left(block(0, 1, 1), block(0, -1, -1)): "5: <tb> 0 is on line 3 already",
    _left(block(0, 0, 1)): "3: attribute send of <tb> is 0, the GPU itself",
    _left(block(0, 2, 1)): "3: attribute send of <tb>: expected a whole number from -1 to 1, "
    'got "2"',
    _left(block(0, 1, 1, chan=2)): "1: nchannels is 2, but channel 2 is used",
    _left(block(0, -1, 1, step(0, "s", 0))): "4: type s sends, but the thread block's send is -1",
    _left(block(0, 1, -1, step(0, "rrc", 0))): "4: type rrc receives, but the thread block's recv "
    "is -1",
    _left(
        block(0, 1, 1), block(1, 1, -1)
    ): "5: thread blocks 0 and 1 both send to GPU 1 on channel "
    "0; which message is whose would be chance",
    _left(block(0, 1, 1, step(1, "s", 0))): "4: attribute s of <step>: expected 0, got 1",
    _left(block(0, 1, 1, step(0, "ss", 0))): "4: attribute type of <step>: expected one of "
    "s (send), r (receive), rcs (receive, copy, send), rrs (receive, reduce, send), "
    "rrc (receive, reduce, copy), rrcs (receive, reduce, copy, send), cpy (copy), re (reduce), "
    "nop (wait), got \"ss\"; did you mean 's'?",
    _left(block(0, 1, 1, step(0, "s", 0, srcbuf="x"))): "4: attribute srcbuf of <step>: expected "
    'one of i (input), o (output), s (scratch), got "x"',
    _left(block(0, 1, 1, step(0, "s", -1))): "4: attribute srcoff of <step> is -1, but type s uses "
    "it",
    _left(block(0, 1, 1, step(0, "s", 0, cnt=0))): "4: attribute cnt of <step>: expected a whole "
    'number from 1 to 2147483647, got "0"',
    _left(block(0, 1, 1, step(0, "s", 0, depid=0))): "4: depid is 0 and deps is -1; expected both "
    "or neither to be -1",
    _left(block(0, 1, 1, step(0, "s", 0, depid=3, deps=0))): "4: depends on step 0 of thread block "
    "3, which does not exist",
    _left(
        block(0, 1, 1, step(0, "s", 0), step(1, "r", 1, depid=0, deps=0))
    ): "5: depends on step 0 "
    "of thread block 0 (line 4), whose hasdep is 0: MSCCL would not signal it",
    _left(
        block(0, 1, 1, step(0, "s", 0, depid=0, deps=0, hasdep=1))
    ): "4: depends on step 0 of its own thread block, which comes later",
}


@pytest.mark.parametrize("text", REFUSED_TEXT, ids=REFUSED_TEXT.values())
def test_what_is_not_a_program_is_refused_with_line_and_reason(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_program(text.encode(), "a.xml")
    assert str(caught.value) == f"a.xml:{REFUSED_TEXT[text]}"


SEND, RECEIVE = step(0, "s", 0), step(1, "r", 1)
WRONG = {
    _left(block(0, 1, 1, SEND)): "9: GPU 1, thread block 0, step 0 (s): GPU 1 sends 1 and GPU 0 "
    "receives 0 of the messages between them on channel 0; this has no partner",
    _left(block(0, 1, 1, SEND, RECEIVE, step(2, "s", 1))): "6: GPU 0, thread block 0, step 2 (s): "
    "GPU 0 sends 2 and GPU 1 receives 1 of the messages between them on channel 0; this has no "
    "partner",
    _left(block(0, 1, -1, SEND), block(1, -1, 1, step(0, "r", 1), chan=1)): "7: GPU 0, thread "
    "block 1, step 0 (r): GPU 1 sends 0 and GPU 0 receives 1 of the messages between them on "
    "channel 1; this has no partner",
    _left(
        block(0, 1, 1, step(0, "s", 0, cnt=2), RECEIVE)
    ): "11: GPU 1, thread block 0, step 1 (r): "
    "the number of chunks is 1, but 2 of the message's sender, step 0 of thread block 0 of GPU 0, "
    "s (send), line 4",
    program(
        gpu(0, block(0, 1, 1, step(0, "r", 1), step(1, "s", 0))),
        gpu(1, block(0, 0, 0, step(0, "r", 0), step(1, "s", 1))),
    ): "4: GPU 0, thread block 0, step 0 (r): deadlock, 4 steps never run: step 0 of thread block "
    "0 of GPU 0, r (receive), line 4; waits for step 1 of thread block 0 of GPU 1, s (send), line "
    "11; waits for step 0 of thread block 0 of GPU 1, r (receive), line 10; waits for step 1 of "
    "thread block 0 of GPU 0, s (send), line 5; waits for the first of these",
    _left(block(0, 1, 1, step(0, "s", 2), RECEIVE)): "4: GPU 0, thread block 0, step 0 (s): uses "
    "chunk 2 of the output buffer of GPU 0, which has 2 chunks",
    _left(block(0, 1, 1, step(0, "s", 1), RECEIVE)): "4: GPU 0, thread block 0, step 0 (s): reads "
    "output chunk 1, which nothing has written",
    _left(block(0, 1, 1, SEND, step(1, "r", 0))): "2: at the end of allgather, output chunk 0 of "
    "GPU 0 must hold input chunk 0 of GPU 0, but holds input chunk 0 of GPU 1",
    _left(block(0, 1, 1, SEND, step(1, "r", 0, dstbuf="s"))): "2: at the end of allgather, output "
    "chunk 1 of GPU 0 must hold input chunk 0 of GPU 1, but holds nothing",
    _left(
        block(0, 1, 1, SEND, RECEIVE), block(1, -1, -1, step(0, "cpy", 1, srcoff=0))
    ): "5: GPU 0, "
    "thread block 0, step 1 (r): writes output chunk 1 while step 0 of thread block 1 of GPU 0, "
    "cpy (copy), line 8, writes it: a data race, as neither waits for the other",
    _left(
        block(0, 1, 1, SEND, RECEIVE),
        block(1, -1, -1, step(0, "cpy", 0, dstbuf="s"), step(1, "re", 0, srcbuf="s")),
    ): "9: GPU 0, thread block 1, step 1 (re): adds input chunk 0 of GPU 0 a second time",
    _left(block(0, 1, 1, SEND, RECEIVE), sizes=(0, 3, 0)): "2: GPU 0 has 1 input and 3 output "
    "chunks, which does not fit allgather over 2 GPUs",
    _left(block(0, 1, 1, SEND, RECEIVE), sizes=(0, 4, 0)): "8: GPU 0 and GPU 1 differ in buffer "
    "sizes, which does not fit allgather over 2 GPUs",
    _left(block(0, 1, 1, SEND, RECEIVE), sizes=(0, 2, 1 << 30)): ": the buffers have 1073741831 "
    "chunks; a proof holds each, and at most 4194304",
    program(LEFT, RIGHT, coll="allgathr"): "coll: expected one of allreduce, allgather, "
    'reducescatter, alltoall, broadcast, reduce, alltonext, custom, got "allgathr"; did you mean '
    "'allgather'?",
}


@pytest.mark.parametrize("text", WRONG, ids=[problem[:60] for problem in WRONG.values()])
def test_what_is_wrong_is_refused_with_line_and_reason(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        prove(parse_program(text.encode(), "a.xml"))
    assert str(caught.value).replace("a.xml: ", "a.xml:: ") == f"a.xml:{WRONG[text]}"


def test_races_are_found_with_room_for_the_clocks_of_one_gpu_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(race_module, "_CLOCKS_AT_ONCE", 1)
    assert prove(parse_program(PAIR.encode())).collective == "allgather"
    racy = program(
        LEFT,
        gpu(
            1,
            block(0, 0, 0, step(0, "s", 1), step(1, "r", 0)),
            block(1, -1, -1, step(0, "cpy", 0, srcoff=1)),
        ),
    )
    with pytest.raises(ConfigError, match="a data race"):
        prove(parse_program(racy.encode()))


def test_no_entity_is_expanded_and_no_file_is_read(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE a [<!ENTITY x SYSTEM "secret">]>\n<algo name="&x;"/>'
    (tmp_path / "bomb.xml").write_text(bomb)
    with pytest.raises(ConfigError, match="a document type"):
        read_program(tmp_path / "bomb.xml")
    with pytest.raises(ConfigError, match=r"absent\.xml: cannot be read: No such file"):
        read_program(tmp_path / "absent.xml")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_program(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "utf-7", "idna", "no-such"])
def test_any_encoding_is_read_or_refused(encoding: str) -> None:
    data = f'<?xml version="1.0" encoding="{encoding}"?>\n{PAIR}'.encode()
    try:
        assert parse_program(data).collective == "allgather"
    except ConfigError as error:
        assert "XML" in error.problem
