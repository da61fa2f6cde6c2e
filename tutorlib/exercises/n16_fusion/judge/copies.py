"""Counts the numbers that an answer copies from memory to memory. Runs in the answer's process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tutorlib.checking.served import Served

if TYPE_CHECKING:
    from torch import Tensor


@contextmanager
def copies() -> Iterator[list[int]]:
    """How many numbers each copy by torch's operators in the block has."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    found: list[int] = []

    class Counted(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            got = func(*args, **(kwargs or {}))
            arithmetic = torch.Tag.pointwise in func.tags and func.overloadpacket is not torch.ops.aten.clone
            if isinstance(got, torch.Tensor) and not arithmetic and any(is_copy(got, one) for one in args):
                found.append(got.numel())
            return got

    with Counted():
        yield found


def is_copy(got: "Tensor", one: Any) -> bool:
    """Whether it has the numbers of an operator's argument in other memory."""
    return (
        isinstance(one, type(got))
        and (one.shape, one.dtype) == (got.shape, got.dtype)
        and one.untyped_storage().data_ptr() != got.untyped_storage().data_ptr()
        and one.equal(got)
    )


def uncounted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose own copies do not count."""
    from torch.utils._python_dispatch import _disable_current_modes

    def call(*args: Any) -> Any:
        with _disable_current_modes():
            return function(*args)

    return call


def told_of_copies(answer: Served, *args: Any) -> tuple[Any, int]:
    """The answer's result, and how many numbers it copies; gemm, the last argument, may do as it likes.

    Raises what the answer raises.
    """
    *tensors, gemm = args
    with copies() as copied:
        got = answer(*tensors, uncounted(gemm))
    return got, sum(copied)
