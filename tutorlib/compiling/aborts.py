"""What ends the process inside the DSL's C++, or never ends, refused with a sentence instead."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest import mock

IN_KERNELS = ("thread_idx", "block_idx", "block_dim", "grid_dim", "lane_idx", "warp_idx", "sync_threads")


@contextmanager
def no_abort() -> Iterator[None]:
    """Meanwhile ValueError is raised where CuTe 4.8 would end the process, and TypeError where it would trace for ever.

    It calls std::terminate where `retile` gets fewer than 3 modes, and LLVM aborts where a host function asks for what
    only threads on a GPU have. A Python loop over a tensor or over what load() gave takes one element after another
    and never finds the last.
    """
    from cutlass import cute
    from cutlass.cute.atom import ThrCopy
    from cutlass.cute.tensor import TensorSSA, _Tensor

    retile = ThrCopy.retile

    def checked(copy: Any, registers: cute.Tensor, **where: Any) -> cute.Tensor:
        if (rank := cute.rank(registers)) < 3:
            raise ValueError(
                f"retile of a tensor with {rank} modes, {registers.layout}: it takes (values, atoms, K blocks), all "
                "three of them"
            )
        return retile(copy, registers, **where)

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(ThrCopy, "retile", checked))
        for name in IN_KERNELS:
            stack.enter_context(mock.patch.object(cute.arch, name, on_a_gpu(name, getattr(cute.arch, name))))
        for kind in (_Tensor, TensorSSA):
            stack.enter_context(mock.patch.object(kind, "__iter__", endless, create=True))
        yield


def endless(values: Any) -> Iterator[Any]:
    """In the place of an iterator over a tensor's elements."""
    raise TypeError(
        f"Python cannot go through the elements of {type(values).__name__.lstrip('_')} {values.shape}: it does not "
        "know where they end. Count them: for i in cutlass.range_constexpr(cute.size(x.shape)): … x[i] …"
    )


def on_a_gpu(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of cute.arch that raises ValueError outside of a kernel."""

    @wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        if "cuda.kernel" not in operations_around():
            raise ValueError(
                f"cute.arch.{name} is for kernels: this function has @cute.jit and runs on the CPU, where there are no "
                "threads of a GPU. What they do stands under @cute.kernel"
            )
        return function(*args, **options)

    return checked


def operations_around() -> set[str]:
    """The kinds of operations inside of which code is being traced, "func.func" or "cuda.kernel" among them."""
    from cutlass._mlir import ir

    operation = ir.InsertionPoint.current.block.owner.operation  # type: ignore[attr-defined]  # its stub lacks it
    names = set()
    while operation is not None:
        names.add(operation.name)
        operation = operation.parent and operation.parent.operation
    return names
