"""The mutants of a module: its syntax tree with one small fault in it.

Texts for people (messages of errors, f-strings, docstrings), annotations and decorators
stay as they are.
"""

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

Faults = Iterator[tuple[str, ast.AST]]
"""Operators, each with what it makes of a node."""

_BOUNDARY: dict[type, type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_OPPOSITE: dict[type, type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type, type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_OTHER_CALL = {"min": "max", "any": "all", "floor": "ceil", "argmin": "argmax"}
_OTHER_CALL |= {there: here for here, there in _OTHER_CALL.items()}
_MESSAGES = ("hint", "key")
"""Arguments that say how an error is told."""


@dataclass(frozen=True)
class Mutant:
    """One fault: where it is, and what it makes of the statement."""

    file: str
    function: str
    """The function or class it is in; none: the module."""
    line: int
    last_line: int
    """Of the statement; of a compound one, of its head."""
    operator: str
    text: str
    """The statement as it was, and as it is now."""
    is_inside: bool
    """Whether it is in the body of a function, which can be replaced as it runs."""
    put: Callable[[], None] = field(repr=False, compare=False)
    """Change the tree it was found in."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What stays if lines above it come or go."""
        return self.file, self.function, self.operator, self.text


@dataclass(frozen=True)
class _Context:
    function: str = ""
    is_inside: bool = False
    statement: ast.stmt | None = None


def find_mutants(tree: ast.Module, file: str) -> list[Mutant]:
    """Return the mutants of a module in the order of its lines."""
    found = list(_visit(tree, _Context(), file))
    times: Counter[tuple[str, ...]] = Counter()
    numbered = []
    for one in found:
        times[one.key] += 1
        more = f" #{times[one.key]}" if times[one.key] > 1 else ""
        numbered.append(replace(one, text=one.text + more))
    return numbered


def _visit(node: ast.AST, context: _Context, file: str) -> Iterator[Mutant]:
    for name, value in ast.iter_fields(node):
        if _is_skipped(node, name):
            continue
        children = value if isinstance(value, list) else [value]
        for i, child in enumerate(children):
            if not isinstance(child, ast.AST) or _is_text(child):
                continue
            if _is_kind(node, name, i):
                continue
            inside = _entered(context, node, name, child)
            for operator, changed in _faults(child, node):
                at = (node, name, i if isinstance(value, list) else None)
                yield _mutant(inside, file, operator, at, changed)
            if not isinstance(child, ast.Raise):
                yield from _visit(child, inside, file)


def _is_skipped(node: ast.AST, name: str) -> bool:
    if name in ("annotation", "returns", "decorator_list", "ctx", "bases", "keywords"):
        return not (name == "keywords" and isinstance(node, ast.Call))
    return isinstance(node, ast.Delete)


def _is_kind(node: ast.AST, name: str, i: int) -> bool:
    """Tell the types that ``isinstance`` asks for: without them it only fails."""
    return _is_isinstance(node) and name == "args" and i == 1


def _is_isinstance(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
    )


def _is_text(node: ast.AST) -> bool:
    """Tell docstrings, f-strings and names of types."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Name) and node.value.id == "Literal"
    if isinstance(node, ast.keyword):
        return node.arg in _MESSAGES
    return isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom)


def _entered(context: _Context, node: ast.AST, name: str, child: ast.AST) -> _Context:
    if isinstance(node, ast.ClassDef | ast.FunctionDef) and not context.is_inside:
        context = replace(
            context, is_inside=isinstance(node, ast.FunctionDef) and name == "body"
        )
    if isinstance(child, ast.ClassDef | ast.FunctionDef) and not context.is_inside:
        function = f"{context.function}.{child.name}".removeprefix(".")
        context = replace(context, function=function)
    return replace(context, statement=child) if isinstance(child, ast.stmt) else context


def _mutant(
    context: _Context,
    file: str,
    operator: str,
    at: tuple[ast.AST, str, int | None],
    changed: ast.AST,
) -> Mutant:
    statement = context.statement
    assert statement is not None  # noqa: S101  # nothing else is in a module
    was, old = _head(statement), _get(at)
    ast.copy_location(changed, old if hasattr(old, "lineno") else statement)
    _put(at, changed)
    is_whole = old is statement
    becomes = _head(changed if is_whole else statement)  # type: ignore[arg-type]
    _put(at, old)
    body = getattr(statement, "body", None)
    last = statement.end_lineno or statement.lineno
    if isinstance(body, list):
        last = max(statement.lineno, body[0].lineno - 1)
    return Mutant(
        file=file,
        function=context.function,
        line=getattr(old, "lineno", statement.lineno),
        last_line=last,
        operator=operator,
        text=f"{was} → {becomes}",
        is_inside=context.is_inside,
        put=lambda: _put(at, changed),
    )


def _get(at: tuple[ast.AST, str, int | None]) -> ast.AST:
    node, name, i = at
    value = getattr(node, name)
    found: ast.AST = value if i is None else value[i]
    return found


def _put(at: tuple[ast.AST, str, int | None], new: ast.AST) -> None:
    node, name, i = at
    if i is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[i] = new


def _head(statement: ast.stmt) -> str:
    """Write a statement without its body; of errors, without their message."""
    if isinstance(statement, ast.Raise) and isinstance(statement.exc, ast.Call):
        return f"raise {ast.unparse(statement.exc.func)}(…)"
    if not isinstance(getattr(statement, "body", None), list):
        return ast.unparse(statement)
    bare: Any = copy.copy(statement)
    for name in ("orelse", "finalbody", "handlers", "decorator_list"):
        if hasattr(bare, name):
            setattr(bare, name, [])
    bare.body = [ast.Expr(ast.Constant(...))]
    return ast.unparse(bare).removesuffix("...").rstrip()


# What becomes of each kind of node


def _faults(node: ast.AST, parent: ast.AST) -> Faults:
    """Yield every fault of one node, not of those below it."""
    for kind, faults in _KINDS.items():
        if isinstance(node, kind):
            yield from faults(node, parent)
    if _is_condition(node, parent):
        yield "condition", ast.UnaryOp(ast.Not(), node)  # type: ignore[arg-type]


def _is_condition(node: ast.AST, parent: ast.AST) -> bool:
    """Tell what is asked, unless it is turned round by another operator."""
    asked = getattr(parent, "test", None) is node or (
        isinstance(parent, ast.comprehension) and node in parent.ifs
    )
    turned = isinstance(node, ast.Compare) and len(node.ops) == 1
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return asked and not turned and not negated


def _compare(node: ast.Compare, _: ast.AST) -> Faults:
    for i, old in enumerate(node.ops):
        for others in (_BOUNDARY, _OPPOSITE):
            if type(old) in others:
                ops = [*node.ops]
                ops[i] = others[type(old)]()
                yield "comparison", ast.Compare(node.left, ops, node.comparators)


def _binary(node: ast.BinOp, _: ast.AST) -> Faults:
    if type(node.op) in _ARITHMETIC:
        other = _ARITHMETIC[type(node.op)]()
        yield "arithmetic", ast.BinOp(node.left, other, node.right)


def _augmented(node: ast.AugAssign, _: ast.AST) -> Faults:
    if type(node.op) in _ARITHMETIC:
        other = _ARITHMETIC[type(node.op)]()
        yield "arithmetic", ast.AugAssign(node.target, other, node.value)
    yield "statement", ast.Pass()


def _unary(node: ast.UnaryOp, _: ast.AST) -> Faults:
    if not isinstance(node.operand, ast.Constant):
        yield "sign", node.operand


def _boolean(node: ast.BoolOp, _: ast.AST) -> Faults:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "and, or", ast.BoolOp(other, node.values)


def _constant(node: ast.Constant, parent: ast.AST) -> Faults:
    value = node.value
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int | float):
        is_large = abs(value) > 1000
        yield "constant", ast.Constant(value * 2 if is_large else value + 1)
        yield "constant", ast.Constant(value // 2 if is_large else value - 1)
    elif isinstance(value, str) and _is_meant(parent):
        yield "text", ast.Constant(f"{value}!")


def _is_meant(parent: ast.AST) -> bool:
    """Tell texts that are looked at from those that are shown."""
    kinds = ast.Compare | ast.Subscript | ast.Tuple | ast.AnnAssign | ast.arguments
    return isinstance(parent, kinds)


def _call(node: ast.Call, _: ast.AST) -> Faults:
    if _is_isinstance(node):
        return
    function, arguments, named = node.func, node.args, node.keywords
    for i, one in enumerate(named):
        if one.arg not in _MESSAGES:
            fewer = [*named[:i], *named[i + 1 :]]
            yield "argument", ast.Call(function, arguments, fewer)
    if len(arguments) > 1 and not isinstance(arguments[-1], ast.Starred):
        yield "argument", ast.Call(function, arguments[:-1], named)
    if isinstance(function, ast.Name) and function.id in _OTHER_CALL:
        other = ast.Name(_OTHER_CALL[function.id], ast.Load())
        yield "call", ast.Call(other, arguments, named)
    if isinstance(function, ast.Attribute) and function.attr in _OTHER_CALL:
        swapped = ast.Attribute(function.value, _OTHER_CALL[function.attr], ast.Load())
        yield "call", ast.Call(swapped, arguments, named)


def _slice(node: ast.Slice, _: ast.AST) -> Faults:
    if node.lower is not None:
        yield "slice", ast.Slice(None, node.upper, node.step)
    if node.upper is not None:
        yield "slice", ast.Slice(node.lower, None, node.step)
    if node.step is not None:
        yield "slice", ast.Slice(node.lower, node.upper, None)


def _return(node: ast.Return, _: ast.AST) -> Faults:
    is_none = isinstance(node.value, ast.Constant) and node.value.value is None
    if node.value is not None and not is_none:
        yield "return", ast.Return(ast.Constant(None))


def _assign(node: ast.Assign, _: ast.AST) -> Faults:
    if not isinstance(node.targets[0], ast.Name | ast.Tuple):
        yield "statement", ast.Pass()


def _removed(_node: ast.AST, _: ast.AST) -> Faults:
    yield "statement", ast.Pass()


def _continue(_node: ast.Continue, _: ast.AST) -> Faults:
    yield "loop", ast.Pass()
    yield "loop", ast.Break()


def _break(_node: ast.Break, _: ast.AST) -> Faults:
    yield "loop", ast.Continue()


_KINDS: dict[Any, Callable[[Any, ast.AST], Faults]] = {
    ast.Compare: _compare,
    ast.BinOp: _binary,
    ast.AugAssign: _augmented,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Constant: _constant,
    ast.Call: _call,
    ast.Slice: _slice,
    ast.Return: _return,
    ast.Assign: _assign,
    ast.Raise: _removed,
    ast.Expr: _removed,
    ast.Continue: _continue,
    ast.Break: _break,
}
