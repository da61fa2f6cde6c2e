"""Python functions that launch kernels, of cuTile or of CuTe."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from tutorlib.compiling.cutile import refusals
from tutorlib.simulate.cute_functions import launches_of_cute
from tutorlib.simulate.ptx.report import Report as LaunchReport
from tutorlib.simulate.signatures import function_name, with_streams
from tutorlib.simulate.tile_kernels import launch_report, tile_arch


class SeemsOnGpu(TorchFunctionMode):
    """Tensors say that they are on a GPU, which host functions insist on."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        is_asked = getattr(func, "__self__", None) is torch.Tensor.is_cuda  # the property, whose __get__ is called
        return True if is_asked else func(*args, **(kwargs or {}))


def simulate_function(
    function: Callable[..., Any], arguments: Sequence[Any], arch: str, traced: bool
) -> tuple[list[LaunchReport], Any]:
    """The launches of a Python function, CuTe's after cuTile's, and what it returns.

    Raises ValueError if it takes other arguments or launches nothing, CompileFailed, and what it raises itself.
    """
    from tutorlib.simulate.cutile.launching import STREAM, interpreted

    taken = with_streams(function, arguments, STREAM)
    with (
        refusals(),
        interpreted(arch=tile_arch(arch)) as of_tiles,
        launches_of_cute(arch, traced) as of_threads,
        SeemsOnGpu(),
    ):
        returned = function(*taken.values())
    launches = [launch_report(one.kernel, one.report) for one in of_tiles] + of_threads
    if not launches:
        raise ValueError(f"{function_name(function)} launches no kernel of cuTile's or CuTe's")
    return launches, returned
