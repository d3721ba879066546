"""Mutants of a Python text by rule: one small change each, of kinds that people make by mistake.
Left alone is what no result depends on: texts, annotations, decorators, `assert`, the texts of
errors and logs, `__repr__`, `if TYPE_CHECKING`.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from tests.mutants.rules import Change, Mutant

_COMPARES: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_SUMS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
}
_PAIRS = [("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("amin", "amax")]
_PAIRS += [("any", "all"), ("floor", "ceil"), ("bisect_left", "bisect_right")]
_OTHER = dict(_PAIRS) | {other: one for one, other in _PAIRS}
_SILENT = re.compile(r"(?:.*Error|.*Warning|warn|warning|debug|print)$")
_DEFAULTED = {"get": 2, "getattr": 3, "pop": 2, "next": 2}  # and how many arguments with a default


def mutants(text: str) -> list[Mutant]:
    found = _Finder(text)
    found.visit(ast.parse(text))
    made = {(start, before, after): rule for start, before, after, rule in found.changes}
    kept = [Mutant(found.line(one[0]), *one, rule) for one, rule in made.items()]
    return sorted(kept, key=lambda one: (one.start, one.after))


class _Finder(ast.NodeVisitor):
    def __init__(self, text: str) -> None:
        self.text = text
        self.code = _without_comments(text)
        self.starts = [0]
        self.lines = text.splitlines(keepends=True)
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.changes: list[Change] = []

    # --- Where things are

    def at(self, line: int, column: int) -> int:
        """Return the place in the text of a column, which `ast` counts in bytes."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def line(self, start: int) -> int:
        return self.text.count("\n", 0, start) + 1

    def change(self, start: int, end: int, after: str, rule: str) -> None:
        self.changes.append((start, self.text[start:end], after, rule))

    def between(self, left: ast.expr, right: ast.expr, words: tuple[str, str], rule: str) -> None:
        start, end = self.span(left)[1], self.span(right)[0]
        pattern = r"\s+".join(map(re.escape, words[0].split()))
        found = re.search(pattern, self.code[start:end])
        assert found, self.text[start:end]
        self.change(start + found.start(), start + found.end(), words[1], rule)

    # --- What is left alone

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name not in ("__repr__", "__str__"):
            for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
                self.visit(default)
            self._body(node.body)
            self._assigned_again(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._body(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test).endswith("TYPE_CHECKING"):
            return
        self._negated(node.test)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = _called(node)
        if _SILENT.match(name):
            return
        if name == "reshape":  # of all negative sizes numpy makes the same
            self.visit(node.func)
            return
        if name in _OTHER and isinstance(node.func, (ast.Name, ast.Attribute)):
            end = self.span(node.func)[1]
            self.change(end - len(name), end, _OTHER[name], "swap")
        self._default_dropped(node, name)
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """What an error says is not a result."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """It never fails."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """It is a text."""

    def _body(self, body: list[ast.stmt]) -> None:
        for one in body:
            self.visit(one)

    # --- Operators and numbers

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            self.between(left, right, _COMPARES[type(operator)], "flip")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, words, "flip")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        words = _SUMS.get(type(node.op))
        if words and not (_is_text(node.left) or _is_text(node.right)):
            self.between(node.left, node.right, words, "one off")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        words = _SUMS.get(type(node.op))
        if words and not _is_text(node.value):
            self.between(node.target, node.value, (words[0] + "=", words[1] + "="), "one off")
        self._dropped(node)
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        start, end = self.span(node)
        if type(node.value) is int:
            self.change(start, end, str(node.value + 1), "one off")
        elif type(node.value) is float and node.value != float("inf"):
            self.change(start, end, str(2 * node.value or 1.0), "one off")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        start = self.span(node)[0]
        if isinstance(node.op, ast.Not):
            self.change(start, start + len("not "), "", "negate")
        self.generic_visit(node)

    # --- Conditions, statements, elements

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negated(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negated(test)
        self.generic_visit(node)

    def _negated(self, test: ast.expr) -> None:
        flipped = isinstance(test, ast.Compare) and len(test.ops) == 1
        denied = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        if not (denied or (flipped and not isinstance(test.ops[0], _ORDERS))):
            start, end = self.span(test)
            self.change(start, end, f"(not ({self.text[start:end]}))", "negate")

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and not _SILENT.match(_called(node.value)):
            self._dropped(node)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(one, (ast.Attribute, ast.Subscript)) for one in node.targets):
            self._dropped(node)
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._dropped(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._dropped(node)

    def _assigned_again(self, node: ast.FunctionDef) -> None:
        known = {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
        for one in sorted(_own_assignments(node), key=lambda one: one.lineno):
            names = {name.id for name in one.targets if isinstance(name, ast.Name)}
            if names and len(names) == len(one.targets) and names <= known:
                self._dropped(one)
            known |= names

    def _dropped(self, node: ast.stmt) -> None:
        self.change(*self.span(node), "pass", "drop")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        index = ast.unparse(node.slice)
        shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        if index in ("0", "-1") and isinstance(node.ctx, ast.Load) and not shape:
            self.change(*self.span(node.slice), "-1" if index == "0" else "0", "swap")
        self.generic_visit(node)

    def _default_dropped(self, node: ast.Call, name: str) -> None:
        given = [key.value for key in node.keywords if key.arg == "default"]
        if name in _DEFAULTED and len(node.args) == _DEFAULTED[name]:
            given.append(node.args[-1])
        for value in given:
            if ast.unparse(value) == "None" and name == "get":
                continue
            end = self.span(value)[1]
            start = self.code.rindex(",", 0, self.span(value)[0])
            self.change(start, end, "", "drop")


_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _own_assignments(node: ast.FunctionDef) -> Iterator[ast.Assign]:
    left: list[ast.AST] = list(node.body)
    while left:
        one = left.pop()
        if isinstance(one, ast.Assign):
            yield one
        if not isinstance(one, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            left += ast.iter_child_nodes(one)


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_string or isinstance(node, ast.JoinedStr)


def _without_comments(text: str) -> str:
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            kept = lines[line - 1]
            blank = " " * len(token.string)
            lines[line - 1] = kept[:column] + blank + kept[column + len(token.string) :]
    return "".join(lines)
