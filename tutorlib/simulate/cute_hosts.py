"""CuTe host functions as people write them: any tensors, constants and streams among their arguments."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tutorlib.dsl.cute.functions import constant_parameters, says_it_is_jit, says_it_is_kernel
from tutorlib.simulate.ptx.report import Report as LaunchReport
from tutorlib.simulate.signatures import function_name, with_streams

if TYPE_CHECKING:
    from torch import Tensor


def is_cute(kernel: Any) -> bool:
    """Whether it is a @cute.jit function, or an object whose call is one. Raises TypeError for a @cute.kernel."""
    if says_it_is_kernel(kernel):
        raise TypeError(f"{function_name(kernel)} is a @cute.kernel: simulate the @cute.jit function that launches it")
    return says_it_is_jit(kernel) or says_it_is_jit(vars(type(kernel)).get("__call__"))


def simulate_cute(host: Any, arguments: Sequence[Any], arch: str, dynamic: bool, traced: bool) -> list[LaunchReport]:
    """A host function's launches, in order. Raises ValueError if it takes other arguments, and CompileFailed."""
    import torch
    from cuda.bindings import driver

    from tutorlib.compiling.cute import with_reader_line
    from tutorlib.simulate.ptx.languages.cute import simulate_call
    from tutorlib.simulate.ptx.languages.cute_lines import compile_for
    from tutorlib.simulate.ptx.languages.cute_memory import cute_tensor

    named = with_streams(host, arguments, driver.CUstream(0))
    tensors = {name: argument for name, argument in named.items() if isinstance(argument, torch.Tensor)}

    def taken(views: "Sequence[Tensor]") -> dict[str, Any]:
        """The arguments as the host function takes them. views: in the place of the tensors."""
        return named | {name: cute_tensor(view, dynamic) for name, view in zip(tensors, views, strict=True)}

    example = list(taken(list(tensors.values())).values())
    compiled = with_reader_line(lambda more: compile_for(host, example, f"sm_{arch}"))
    constant = constant_parameters(compiled.function)

    def at_run_time(views: "Sequence[Tensor]") -> list[Any]:
        return [argument for name, argument in taken(views).items() if name not in constant]

    launches = simulate_call(compiled, tensors, at_run_time, traced) if ".entry" in compiled.ptx else []
    if not launches:
        raise ValueError(f"{function_name(host)} launches no kernel")
    return launches
