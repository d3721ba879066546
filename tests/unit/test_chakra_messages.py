"""The drop-in's `et_def_pb2` and `protolib`: real protobuf messages, and files Yantra agrees on."""

from __future__ import annotations

import copy
import gzip
import pickle
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests import drop_in
from yantra import chakra
from yantra.chakra.schema import Kind

pytest.importorskip("google.protobuf", reason="the drop-in's messages need the package protobuf")
from google.protobuf.json_format import MessageToJson

VALUES: dict[str, Any] = {
    "double": 0.1,
    "float": 0.5,
    "bool": True,
    "string": "\u00fc",
    "bytes": b"\x00\xff",
}


@pytest.fixture(autouse=True)
def _drop_in(monkeypatch: pytest.MonkeyPatch) -> None:
    drop_in.append_to_path(monkeypatch)


def every_field(messages: Any) -> tuple[Any, Any]:
    metadata = messages.GlobalMetadata(version="0.0.4")
    metadata.attr.add(name="schema", string_val="x")
    node = messages.Node(id=7, name="n", type=messages.COMM_COLL_NODE)
    node.ctrl_deps.extend([1, 2**40])
    node.data_deps.append(5)
    node.start_time_micros = 3
    node.duration_micros = 2**63
    node.inputs.CopyFrom(messages.IOInfo(values="[1]", shapes="[2]", types="[3]"))
    node.outputs.values = "[4]"
    for place, kind in enumerate(kind for kind in Kind if kind is not Kind.NONE):
        value = VALUES.get(kind.element.name.lower(), 3)
        attribute = messages.AttributeProto(name=f"a{place}", doc_string="why")
        if kind.is_list:
            getattr(attribute, kind.name.lower()).values.extend([value, value])
        else:
            setattr(attribute, f"{kind.name.lower()}_val", value)
        node.attr.append(attribute)
    return metadata, node


def test_yantra_reads_what_messages_wrote_and_writes_the_same_bytes(tmp_path: Path) -> None:
    from chakra.schema.protobuf import et_def_pb2 as messages
    from chakra.src.third_party.utils.protolib import encodeMessage

    metadata, node = every_field(messages)
    path = tmp_path / "a.et"
    with path.open("wb") as file:
        encodeMessage(file, metadata)
        encodeMessage(file, node)
    trace = chakra.read(path)
    assert trace.to_bytes() == path.read_bytes()
    (read,) = trace
    assert (read.id, read.name, read.type) == (7, "n", chakra.NodeType.COMM_COLL)
    assert (read.ctrl_deps, read.data_deps) == ([1, 2**40], [5])
    assert (read.start_micros, read.duration_micros) == (3, 2**63)
    assert [item.kind for item in read.attributes] == [k for k in Kind if k is not Kind.NONE]


@pytest.mark.parametrize("packed", [False, True])
def test_messages_read_what_yantra_wrote(packed: bool, tmp_path: Path) -> None:
    from chakra.et_def.et_def_pb2 import COMP_NODE, GlobalMetadata, Node
    from chakra.third_party.utils.protolib import decodeMessage, openFileRd

    builder = chakra.TraceBuilder()
    kernel = builder.compute("matmul", duration_micros=150)
    builder.collective("all_reduce", 1000, after=kernel)
    path = tmp_path / "b.et"
    data = builder.build().to_bytes()
    path.write_bytes(gzip.compress(data) if packed else data)
    with openFileRd(str(path)) as file:
        metadata, nodes = GlobalMetadata(), [Node(), Node()]
        assert [decodeMessage(file, message) for message in (metadata, *nodes)] == [True] * 3
        assert not decodeMessage(file, Node())
    assert (nodes[0].type, nodes[0].duration_micros) == (COMP_NODE, 150)
    assert [a.name for a in nodes[1].attr] == ["is_cpu_op", "comm_type", "comm_size"]


def test_their_json_is_that_of_the_jsonizer(tmp_path: Path) -> None:
    from chakra.schema.protobuf import et_def_pb2 as messages
    from chakra.src.third_party.utils.protolib import encodeMessage

    given = every_field(messages)
    with (tmp_path / "a.et").open("wb") as file:
        for message in given:
            encodeMessage(file, message)
    chakra.write_json(chakra.read(tmp_path / "a.et"), tmp_path / "a.json")
    text = "".join(map(MessageToJson, given))
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == text


def test_constants_and_enums_are_those_of_a_generated_module() -> None:
    from chakra.schema.protobuf import et_def_pb2 as messages

    assert {f"{item.name}_NODE": int(item) for item in chakra.NodeType} == dict(
        messages.NodeType.items()
    )
    assert {item.name: int(item) for item in chakra.CollectiveType} == dict(
        messages.CollectiveCommType.items()
    )
    assert messages.COMM_COLL_NODE == messages.NodeType.COMM_COLL_NODE == 7
    assert messages.NodeType.Name(4) == "COMP_NODE"
    assert messages.CollectiveCommType.Value("BARRIER") == messages.BARRIER == 9


def test_messages_behave_as_protobufs_do() -> None:
    from chakra.schema.protobuf import et_def_pb2 as messages

    _, node = every_field(messages)
    assert messages.Node.FromString(node.SerializeToString()) == node
    assert copy.deepcopy(node) == pickle.loads(pickle.dumps(node)) == node
    assert node.HasField("inputs") and not messages.Node().HasField("inputs")
    assert node.attr[0].WhichOneof("value") == "double_val"
    assert messages.Tensor(tensor_id=1, device="cuda:0").ByteSize() == 10
    with pytest.raises(TypeError):
        node.id = "seven"


def test_the_names_of_before_may_2024_are_the_same_classes() -> None:
    from chakra.et_def import et_def_pb2 as old
    from chakra.schema.protobuf import et_def_pb2 as today

    assert {name: getattr(old, name) for name in today.__all__} == {
        name: getattr(today, name) for name in today.__all__
    }


def test_a_name_of_an_older_layout_says_what_became_of_it() -> None:
    with pytest.raises(ImportError, match="int64_val=1"):
        from chakra.et_def.et_def_pb2 import INTS  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'NoSuch'"):
        from chakra.et_def.et_def_pb2 import NoSuch  # noqa: F401


def test_an_empty_message_is_not_the_end_of_the_file() -> None:
    from chakra.schema.protobuf.et_def_pb2 import GlobalMetadata, Node
    from chakra.src.third_party.utils.protolib import decodeMessage, encodeMessage

    file = BytesIO()
    encodeMessage(file, GlobalMetadata())
    encodeMessage(file, Node(id=1))
    file.seek(0)
    node = Node()
    assert decodeMessage(file, GlobalMetadata()) and decodeMessage(file, node)
    assert node.id == 1 and not decodeMessage(file, node)


@pytest.mark.parametrize("size", [1, 127, 128, 16383, 16384, 2**21])
def test_a_length_is_a_varint(size: int) -> None:
    from chakra.schema.protobuf.et_def_pb2 import Node
    from chakra.src.third_party.utils.protolib import decodeMessage, encodeMessage

    node = Node(name="x" * size)
    file = BytesIO()
    encodeMessage(file, node)
    file.seek(0)
    read = Node()
    assert decodeMessage(file, read) and read == node and not file.read()


@pytest.mark.parametrize("data", [b"\x05ab", b"\x80"])
def test_a_file_that_ends_within_a_message_is_an_error(data: bytes) -> None:
    from chakra.schema.protobuf.et_def_pb2 import Node
    from chakra.src.third_party.utils.protolib import decodeMessage

    with pytest.raises(EOFError, match="ends within"):
        decodeMessage(BytesIO(data), Node())


def test_a_length_of_more_than_32_bits_is_an_error() -> None:
    from chakra.schema.protobuf.et_def_pb2 import Node
    from chakra.src.third_party.utils.protolib import decodeMessage

    with pytest.raises(ValueError, match="more than 32 bits"):
        decodeMessage(BytesIO(b"\xff" * 9), Node())


def test_without_protobuf_the_messages_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    monkeypatch.delitem(sys.modules, "chakra.schema.protobuf.et_def_pb2", raising=False)
    with pytest.raises(ImportError, match="pip install 'protobuf"):
        import chakra.schema.protobuf.et_def_pb2  # noqa: F401
