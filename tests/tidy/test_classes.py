"""A class of the core has one idea: few methods and few members, so that it is read as a whole."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tidy.test_interfaces import classes

NATIVE = Path(__file__).resolve().parents[2] / "native"
MOST_METHODS = 40
MOST_MEMBERS = 20
SPECIFIERS = (
    r"^(?:template <.*?> (?=\w)|\[\[.*?\]\] |inline |constexpr |static |explicit |virtual )*"
)
NO_MEMBER = ("using ", "typedef ", "friend ", "static_assert", "struct ", "class ", "enum ")


def _outside(text: str, opening: str, closing: str) -> str:
    depth, kept = 0, []
    for sign in text:
        depth -= sign == closing
        if depth == 0:
            kept.append(sign)
        depth += sign == opening
    return "".join(kept)


def _declarations(body: str) -> list[str]:
    text = _outside(re.sub(r"\b(?:public|protected|private):(?!:)", "", body), "{", "}")
    ends = re.sub(r"\)([^;{}()]*)\{\}", r")\1;", _outside(text, "(", ")"))
    return [" ".join(part.split()) for part in ends.split(";") if part.strip()]


def _sizes(body: str) -> tuple[int, int]:
    """Return methods and members; a bit field is a member, a static constant none."""
    methods = members = 0
    for declaration in _declarations(body):
        plain = re.sub(SPECIFIERS, "", declaration)
        if "()" in plain.split(" = ")[0] or "operator" in plain:
            methods += not plain.startswith("friend ")
        elif not plain.startswith(NO_MEMBER) and not re.match(r"(?:\S+ )*static ", declaration):
            members += 1
    return methods, members


def test_what_counts_is_what_a_class_declares_itself() -> None:
    text = """
    class Outer : public Base {
    public:
        explicit Outer(int a, int b = f(1)) : a_(a), b_{b} {}
        ~Outer() = default;
        struct Inner { int x = 0; void heard(); };
        int one() const { if (a_) { return b_; } return 0; }
        template <class T>
        void two(T&& t);
        int& operator[](int at) { return v_[at]; }
        using Made = int (*)(int);
        static constexpr int most = 3;

    private:
        int a_ = 0;
        Vector<std::pair<int, int>> v_;
        std::array<int, 3> b_ = {1, 2, 3};
        bool is_c_ : 1 = false;
    };
    """
    sizes = {name: _sizes(body) for name, body in classes(text)}
    assert sizes["Inner"] == (1, 1)
    assert sizes["Outer"] == (5, 4)


def test_a_class_is_read_as_a_whole() -> None:
    methods: dict[str, int] = {}
    members: dict[str, int] = {}  # of classes: a struct is a record, as wide as its facts
    for path in sorted(NATIVE.rglob("*.[ch]pp")):
        text = re.sub(r"//[^\n]*", "", path.read_text())
        guarded = set(re.findall(r"\bclass (\w+)[^;{]*\{", text))
        for name, body in classes(text):
            where = f"{path.relative_to(NATIVE)}: {name}"
            methods[where], fields = _sizes(body)
            if name in guarded:
                members[where] = fields
    assert methods["network/packet/simulator.hpp: Simulator"] > 20  # it finds them
    assert members["network/packet/sender.hpp: Senders"] > 10
    large = {name for name, count in methods.items() if count > MOST_METHODS}
    large |= {name for name, count in members.items() if count > MOST_MEMBERS}
    assert large == set()
