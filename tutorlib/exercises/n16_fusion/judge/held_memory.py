"""Which of the memory that a call allocates is still held after it. Runs in the answer's process."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor
    from torch.multiprocessing.reductions import StorageWeakRef


@contextmanager
def allocations() -> "Iterator[list[StorageWeakRef]]":
    """The memory of what torch's operators return in the block; a view's is that of its tensor."""
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils._python_dispatch import TorchDispatchMode

    found: list[StorageWeakRef] = []

    class Recorded(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            got = func(*args, **(kwargs or {}))
            for one in got if isinstance(got, tuple | list) else (got,):
                if isinstance(one, torch.Tensor):
                    found.append(StorageWeakRef(one.untyped_storage()))
            return got

    with Recorded():
        yield found


def held_besides(allocated: "Iterable[StorageWeakRef]", tensors: "Iterable[Tensor]") -> bool:
    """Whether some of this memory is still held, and not that of these tensors."""
    import gc

    gc.collect()
    known = {one.untyped_storage()._cdata for one in tensors}
    return any(one.cdata not in known and not one.expired() for one in allocated)
