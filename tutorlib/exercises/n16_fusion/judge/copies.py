"""Counts the numbers that an answer copies from memory to memory. Runs in the answer's process."""

from typing import TYPE_CHECKING, Any

from tutorlib.checking.served import Served

if TYPE_CHECKING:
    from torch import Tensor


def told_of_copies(answer: Served, *args: Any) -> tuple[Any, int]:
    """The answer's result, and how many numbers its operators copy; gemm, the last argument, may do as it likes.

    Raises what the answer raises.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

    *tensors, gemm = args
    copied = 0

    class Counted(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal copied
            got = func(*args, **(kwargs or {}))
            arithmetic = torch.Tag.pointwise in func.tags and func.overloadpacket is not torch.ops.aten.clone
            if isinstance(got, torch.Tensor) and not arithmetic and any(is_copy(got, one) for one in args):
                copied += got.numel()
            return got

    def uncounted(a: "Tensor", b: "Tensor") -> "Tensor":
        with _disable_current_modes():
            return gemm(a, b)

    with Counted():
        got = answer(*tensors, uncounted)
    return got, copied


def is_copy(got: "Tensor", one: Any) -> bool:
    """Whether it has the numbers of an operator's argument in other memory."""
    return (
        type(one) is type(got)
        and (one.shape, one.dtype) == (got.shape, got.dtype)
        and one.untyped_storage().data_ptr() != got.untyped_storage().data_ptr()
        and one.equal(got)
    )
