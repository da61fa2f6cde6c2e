"""Each order of a right loop is left out by itself: the rehearsal notices all that are needed."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.checking.rehearsing import loops
from tests.pages.change import Change, code_of, derive
from tutorlib.checking.rehearsing.hopper_block import one_function, rehearse_roles, specialized
from tutorlib.checking.rehearsing.unsafe import Unsafe

ROLES: dict[str, tuple[Any, Callable]] = {
    "produce": (loops.produce, lambda loop: specialized(loop, loops.consume)),
    "consume": (loops.consume, lambda loop: specialized(loops.produce, loop)),
    "main_loop": (loops.main_loop, one_function),
}
# Lines below the decorator that can go, and why.
HARMLESS = {
    ("consume", 11): "the second fence: multiplications into the same registers need none between them",
    ("main_loop", 17): "the second fence",
    ("consume", 21): "the last stage is freed, into which nothing is loaded any more",
}


def orders(name: str) -> Iterator[tuple[str, int, str]]:
    """The loop's name, and for each call that stands by itself how many lines below the decorator, and what it says."""
    code = code_of(ROLES[name][0])
    text = Path(code.co_filename).read_text(encoding="utf-8")
    (function,) = [
        node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == code.co_name
    ]
    top = function.decorator_list[0].lineno
    for node in ast.walk(function):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield name, node.lineno - top, ast.unparse(node)


def leave_out(number: int) -> Change:
    def change(lines: list[str]) -> list[str]:
        indent = lines[number][: -len(lines[number].lstrip())]
        return [*lines[:number], f"{indent}pass", *lines[number + 1 :]]

    return change


def is_noticed(name: str, number: int) -> bool:
    right, roles = ROLES[name]
    loop = derive(right, "shorter", "lacks a line", leave_out(number))
    try:
        for stages, k_tiles in ((2, 1), (2, 5), (3, 7)):
            rehearse_roles(roles(loop), k_tiles, stages)
    except Unsafe:
        return True
    return False


@pytest.mark.parametrize(
    ("name", "number", "order"), [order for name in ROLES for order in sorted(orders(name))], ids=str
)
def test_an_order_that_is_left_out_is_noticed_where_it_is_needed(name, number, order):
    assert is_noticed(name, number) == ((name, number) not in HARMLESS)
