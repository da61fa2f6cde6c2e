"""A kernel that writes to every member of a struct in shared memory, and reads when all is written.

Members that overlap, end too early, begin in the wrong place or round as another dtype show in what is read.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

import cutlass
from cutlass import Float32, cute
from cutlass.memory import SmemAllocator

THREADS = 1024
UNIT = 2.0**40  # whole numbers are kept as multiples of 1 / UNIT
BEFORE = 8  # bytes, so that a struct which is not aligned begins in the wrong place

ProbedMembers = list[tuple[str, int, bool, int]]  # name, elements, whether they are whole numbers, alignment


def make_probe(storage: Callable[[int], Any], tried: Mapping[int, tuple[int, ProbedMembers]]) -> Callable[..., None]:
    """The host function of (x, y): copies x to the members, and from there to y, followed by remainders.

    storage: takes a number, gives the struct. tried: by the size of x, that number and the members.
    """

    @cute.kernel
    def probe_kernel(x: cute.Tensor, y: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        number, members = tried[cute.size(x)]
        memory = SmemAllocator()
        memory.allocate(BEFORE)
        kept = memory.allocate(storage(number))
        base = 0
        for name, elements, whole, _ in members:
            member = getattr(kept, name).get_tensor(cute.make_layout(elements))
            for i in cutlass.range(thread, elements, THREADS):
                value = x[base + i]
                kept_value: Any = abs_of(value) * UNIT if whole else value
                member[i] = kept_value.to(member.element_type)
            base += elements
        cute.arch.sync_threads()
        base = 0
        for n, (name, elements, whole, align) in enumerate(members):
            member = getattr(kept, name).get_tensor(cute.make_layout(elements))
            for i in cutlass.range(elements - 1 - thread, -1, -THREADS):  # what another thread wrote
                value = Float32(member[i])
                y[base + i] = value / UNIT if whole else value
            base += elements
            y[cute.size(x) + n] = (getattr(kept, name).data_ptr().toint() % align).to(Float32)

    @cute.jit
    def probe(x: cute.Tensor, y: cute.Tensor) -> None:
        probe_kernel(x, y).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))

    return cast("Callable[..., None]", probe)


def abs_of(value: Any) -> Any:
    return cutlass.max(value, -value)
