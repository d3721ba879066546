"""An interface of the core is small enough to hold in the head."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

NATIVE = Path(__file__).resolve().parents[2] / "native"
MOST_VIRTUALS = 8
HEAD = re.compile(
    r"^[ \t]*(?:template <.*>\n[ \t]*)?(?:class|struct) (?:\[\[.*?\]\] )?(\w+)[^;{]*\{", re.M
)


def classes(text: str) -> Iterator[tuple[str, str]]:
    for head in HEAD.finditer(text):
        depth, at = 1, head.end()
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        body = text[head.end() : at - 1]
        for _, inner in classes(body):
            body = body.replace(inner, "", 1)
        yield head[1], body


def _virtuals(body: str) -> int:
    return len(re.findall(r"\bvirtual (?!~)", body))


def test_what_counts_is_what_a_class_declares_itself() -> None:
    text = """
    class Outer : public Base {
        virtual ~Outer() = default;
        class Inner { virtual void heard() = 0; };
        virtual void one() const { if (true) { return; } }
        virtual int two() = 0;
        void three() override;
    };
    """
    assert {name: _virtuals(body) for name, body in classes(text)} == {
        "Outer": 2,
        "Inner": 1,
    }
    assert dict(classes("struct A { virtual void a(); };")) == {"A": " virtual void a(); "}


def test_an_interface_has_eight_virtual_functions_at_most() -> None:
    found: dict[str, int] = {}
    for path in sorted(NATIVE.rglob("*.[ch]pp")):
        text = re.sub(r"//[^\n]*", "", path.read_text())
        for name, body in classes(text):
            found[f"{path.relative_to(NATIVE)}: {name}"] = _virtuals(body)
    assert found["network/network.hpp: NetworkModel"] > 4  # it finds them
    assert {name: count for name, count in found.items() if count > MOST_VIRTUALS} == {}
