"""A cutlass.pipeline.PipelineState that a helper advances, in a rehearsal."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from tutorlib.checking.plain_python import as_written
from tutorlib.checking.rehearsing.call_site import calling_line
from tutorlib.checking.rehearsing.plain_state import clone_of


def call_helper(notes: list[str], helper: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a @cute.jit function as another one calls it.

    In the kernel a state that it advances in a loop is a new value after the loop, which the caller gets only by a
    return. notes: receives a sentence if it is not returned.
    """
    from cutlass.pipeline import PipelineState

    plain = as_written(helper)
    given = inspect.signature(plain).bind(*args, **kwargs).arguments
    states = {name: state for name, state in given.items() if isinstance(state, PipelineState)}
    looped = states.keys() & advanced_in_loops(helper) if states else set()
    before = {name: vars(states[name]).copy() for name in looped}
    result = plain(*args, **kwargs)
    values = list(result) if isinstance(result, tuple) else [result]
    for name in looped:
        state = states[name]
        if not any(value is state for value in values):
            notes.append(
                f"{calling_line()}: {plain.__name__} advances `{name}` in a loop and does not return it. In a kernel "
                "the caller's state then stays as it was."
            )
        values = [clone_of(value) if value is state else value for value in values]
        vars(state).update(before[name])
    return tuple(values) if isinstance(result, tuple) else values[0]


def advanced_in_loops(helper: Callable[..., Any]) -> set[str]:
    """Names whose `advance` or `reverse` stands in a loop of the function's source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(helper)))
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)]
    called = [node.func for loop in loops for node in ast.walk(loop) if isinstance(node, ast.Call)]
    return {
        function.value.id
        for function in called
        if isinstance(function, ast.Attribute)
        and function.attr in ("advance", "reverse")
        and isinstance(function.value, ast.Name)
    }
