"""Changes to the syntax tree of CuTe and cuTile kernels: what keeps a kernel right is removed or shifted.

Every change is made to a fresh tree, so that one mutant has one change.
"""

import ast
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from tests.mutation.mutant import Mutant

SYNCHRONIZATION = (
    "sync_threads", "barrier", "sync_warp", "cp_async_commit_group", "cp_async_wait_group", "fence", "mbarrier_wait",
    "mbarrier_init", "mbarrier_init_fence", "mbarrier_arrive_and_expect_tx", "cp_async_bulk_commit_group",
    "cp_async_bulk_wait_group", "mbarrier_arrive", "fence_proxy", "fence_view_async_tmem_load", "commit_group",
    "wait_group", "commit", "advance", "meet", "alloc_tmem", "dealloc_tmem",
)  # fmt: skip
GROUPS_LEFT = ("cp_async_wait_group", "cp_async_bulk_wait_group", "wait_group")
BOUNDS = ("range", "range_constexpr", "ceil_div", "cdiv", "irange", *GROUPS_LEFT)
NEIGHBOURS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}


@dataclass(frozen=True)
class Change:
    """what: in words. line: where. apply: makes it, in the tree that it was found in."""

    what: str
    line: int
    apply: Callable[[], None]


def mutants(source: str, functions: Collection[str] | None = None) -> Iterator[Mutant]:
    """Every mutant of these functions of a module, or of all of them. Of two with the same code the first."""
    count = len(list(changes(ast.parse(source), functions)))
    seen = set()
    for number in range(count):
        tree = ast.parse(source)
        change = list(changes(tree, functions))[number]
        change.apply()
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        if text not in seen:
            yield Mutant(change.what, change.line, text)
        seen.add(text)


def changes(tree: ast.AST, functions: Collection[str] | None) -> Iterator[Change]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and (functions is None or function.name in functions):
            for node in ast.walk(function):
                yield from of_statements(node)
                yield from of_expression(node, function)


# statements -----------------------------------------------------------------------------------------------------


def of_statements(node: ast.AST) -> Iterator[Change]:
    """Synchronisation removed, moved by a place, or moved into the `if` before it; stages that no longer advance."""
    for name in ("body", "orelse"):
        block = getattr(node, name, None)
        if not isinstance(block, list):
            continue
        for at, statement in enumerate(block):
            if is_synchronization(statement) and not isinstance(node, ast.With):
                yield from moves(block, at)
                if isinstance(statement, ast.With):
                    yield Change(f"without `{first_line(statement)}`", statement.lineno, opener(block, at))
            elif is_advance(statement, block[:at]):
                yield Change(f"without `{ast.unparse(statement)}`", statement.lineno, remover(block, at))
            elif isinstance(statement, ast.If) and not is_static(statement.test):
                yield Change(f"always, without `if {ast.unparse(statement.test)}`", statement.lineno, opener(block, at))


def is_synchronization(statement: ast.stmt) -> bool:
    """A call that orders threads, alone or under `with elect_one()`."""
    if isinstance(statement, ast.With) and len(statement.body) == 1:
        return is_synchronization(statement.body[0])
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and name_of(statement.value.func) in SYNCHRONIZATION
    )


def is_advance(statement: ast.stmt, before: list[ast.stmt]) -> bool:
    """An assignment to names that computes with names that other statements bind: `read = (read + 1) % stages`."""
    if isinstance(statement, ast.AugAssign):
        return True
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Name | ast.BinOp)
        and statement.targets[0].id in {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)} | STAGES
    )


STAGES = {"read", "write", "stage", "phase", "buffer"}  # names that a pipeline's position goes by


def is_static(test: ast.expr) -> bool:
    return isinstance(test, ast.Call) and name_of(test.func) == "const_expr"


def moves(block: list[ast.stmt], at: int) -> Iterator[Change]:
    statement = block[at]
    called = statement.body[0] if isinstance(statement, ast.With) else statement
    said = f"`{ast.unparse(called)}`"
    yield Change(f"without {said}", statement.lineno, remover(block, at))
    if at > 0:
        yield Change(f"{said} one statement earlier", statement.lineno, lambda: swap(block, at, at - 1))
        if isinstance(block[at - 1], ast.If):
            yield Change(f"{said} inside the `if` before it", statement.lineno, lambda: enter(block, at))
    if at + 1 < len(block):
        yield Change(f"{said} one statement later", statement.lineno, lambda: swap(block, at, at + 1))


def first_line(statement: ast.stmt) -> str:
    return ast.unparse(statement).splitlines()[0]


def remover(block: list[ast.stmt], at: int) -> Callable[[], None]:
    def remove() -> None:
        block[at] = ast.Pass()

    return remove


def opener(block: list[ast.stmt], at: int) -> Callable[[], None]:
    def open_up() -> None:
        statement = block[at]
        assert isinstance(statement, ast.If | ast.With)
        block[at : at + 1] = statement.body

    return open_up


def swap(block: list[ast.stmt], one: int, other: int) -> None:
    block[one], block[other] = block[other], block[one]


def enter(block: list[ast.stmt], at: int) -> None:
    before = block[at - 1]
    assert isinstance(before, ast.If)
    before.body.append(block.pop(at))


def name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


# expressions ----------------------------------------------------------------------------------------------------


def of_expression(node: ast.AST, function: ast.FunctionDef) -> Iterator[Change]:
    """Comparisons and bounds off by one, predicates and swizzles left out."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in NEIGHBOURS:
        yield of_comparison(node)
    if isinstance(node, ast.BoolOp):
        for at, value in enumerate(node.values):
            yield Change(f"without the condition `{ast.unparse(value)}`", node.lineno, dropper(node.values, at))
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.BitXor):
        for side in ("left", "right"):
            operand = getattr(node, side)
            if isinstance(operand, ast.Constant) and isinstance(operand.value, int):
                yield from off_by_one(operand, ast.unparse(node))
    if isinstance(node, ast.Call):
        yield from of_call(node, function)


def of_comparison(node: ast.Compare) -> Change:
    said = ast.unparse(node)

    def apply() -> None:
        node.ops[0] = NEIGHBOURS[type(node.ops[0])]()

    return Change(f"`{said}` off by one", node.lineno, apply)


def dropper(values: list[ast.expr], at: int) -> Callable[[], None]:
    """One condition of several becomes neutral by repeating another."""

    def drop() -> None:
        values[at] = values[at - 1]

    return drop


def off_by_one(constant: ast.Constant, said: str) -> Iterator[Change]:
    for step in (1, -1):
        new = constant.value + step

        def apply(new: int = new) -> None:
            constant.value = new

        yield Change(f"{constant.value} → {new} in `{said}`", constant.lineno, apply)


def of_call(node: ast.Call, function: ast.FunctionDef) -> Iterator[Change]:
    name, said = name_of(node.func), ast.unparse(node)
    if name == "make_swizzle":
        for argument in node.args:
            if isinstance(argument, ast.Constant):
                yield from off_by_one(argument, said)
    if name == "make_composed_layout":
        yield Change("without the swizzle", node.lineno, lambda: replace(function, node, node.args[2]))
    if name in ("ceil_div", "cdiv"):
        yield Change(
            f"rounded down in `{said}`", node.lineno,
            lambda: replace(function, node, ast.BinOp(node.args[0], ast.FloorDiv(), node.args[1])),
        )  # fmt: skip
    if name in BOUNDS and node.args:
        at = 1 if len(node.args) > 1 and name not in ("ceil_div", "cdiv") else 0
        for operator, word in ((ast.Add(), "one more"), (ast.Sub(), "one less")):
            yield Change(f"{word} in `{said}`", node.lineno, shifter(node, at, operator))
    for keyword in list(node.keywords):
        if keyword.arg in ("pred", "padding_mode"):
            yield Change(f"without {keyword.arg} in `{said}`", node.lineno, lambda k=keyword: node.keywords.remove(k))  # type: ignore[misc]
    if name == "elem_less":
        yield Change(f"`{said}` always true", node.lineno, lambda: replace(function, node, ALWAYS))


def shifter(node: ast.Call, at: int, operator: ast.operator) -> Callable[[], None]:
    def shift() -> None:
        node.args[at] = ast.BinOp(node.args[at], operator, ast.Constant(1))

    return shift


ALWAYS = ast.parse("cutlass.Boolean(True)", mode="eval").body


def replace(function: ast.FunctionDef, node: ast.expr, other: ast.expr) -> None:
    """Another expression in a node's place."""

    class Replacer(ast.NodeTransformer):
        def visit(self, visited: ast.AST) -> ast.AST:
            return other if visited is node else self.generic_visit(visited)

    Replacer().visit(function)
