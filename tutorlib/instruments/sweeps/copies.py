"""The sweeps of notebooks 04 and 05: coalescing, what each step of a copy gains, and what the naive copy pays for."""

from collections.abc import Callable
from itertools import product

from cutlass import Constexpr, const_expr, cute

from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.copies import CopyConfig, Direction, make_copy, make_directed_copy
from tutorlib.measuring import counters
from tutorlib.measuring.launchers import CuteLauncher
from tutorlib.problems.catalogue import copy
from tutorlib.problems.problem import Problem

PROBLEM = copy("bf16")
LARGE = (32768, 16384)  # 1 GiB, as the exercises have it
FLOATS = (16384, 16384)  # 1 GiB of fp32
PAIRS = 10  # each looks at 1 GiB
CAUSE_SHAPES = ((4096, 16384), (4096, 16448))  # rows of 32 KiB, and of 128 bytes more: no power of two
CAUSE_COUNTERS = (
    counters.L1_LOADED,
    counters.L1_STORED,
    counters.L2_READ,
    counters.L2_WRITTEN,
    counters.MEMORY_READ,
    counters.MEMORY_WRITTEN,
)

ONE_BY_ONE = CopyConfig(vector=1, loads_first=False)
WIDE = (64, 128)
STEPS = {  # rung 3 of the page is the last; each line changes what its name says, and the vectors come in either order
    "rung 2: one element at a time": ONE_BY_ONE,
    "+ all loads before the first store": CopyConfig(vector=1),
    "+ vectors of 16 bytes": CopyConfig(loads_first=False),
    "+ both": CopyConfig(),
    "+ both, tile 64×128": CopyConfig(WIDE),
    "+ both, tile 64×128, 256 threads": CopyConfig(WIDE, 256),
}


def with_hosts(problem: Problem, hosts: dict[str, Callable[..., None]]) -> tuple[Candidate, ...]:
    return tuple(Candidate(name, CuteLauncher(host, problem)) for name, host in hosts.items())


# Notebook 04 --------------------------------------------------------------------------------------------------------

BLOCK = (32, 8, 1)  # threads in x, y, z; a warp has one y


@cute.kernel
def element_kernel(src: cute.Tensor, dst: cute.Tensor, along_rows: Constexpr) -> None:
    thread_x, thread_y, _ = cute.arch.thread_idx()
    block_x, block_y, _ = cute.arch.block_idx()
    i, j = block_y * BLOCK[1] + thread_y, block_x * BLOCK[0] + thread_x
    m, n = (i, j) if const_expr(along_rows) else (j, i)
    dst[m, n] = src[m, n]


def make_element_copy(along_rows: bool) -> Callable[..., None]:
    """The host function copy(src, dst), for row-major matrices whose rows and columns are multiples of 32."""

    @cute.jit
    def copy(src: cute.Tensor, dst: cute.Tensor) -> None:
        rows, columns = cute.size(src, mode=[0]), cute.size(src, mode=[1])
        slow, fast = (rows, columns) if const_expr(along_rows) else (columns, rows)
        element_kernel(src, dst, along_rows).launch(grid=(fast // BLOCK[0], slow // BLOCK[1], 1), block=BLOCK)

    return copy


def coalescing() -> Sweep:
    """Notebook 04: an element a thread, along rows and down columns."""
    floats = copy("fp32")
    hosts = {"along rows": make_element_copy(True), "down columns": make_element_copy(False)}
    return Sweep(floats, with_hosts(floats, hosts), (FLOATS,), pairs=PAIRS, seconds=12)


def copy_rungs() -> Sweep:
    """Rung 3's changes, one at a time."""
    hosts = {name: make_copy(config) for name, config in STEPS.items()}
    return Sweep(PROBLEM, with_hosts(PROBLEM, hosts), (LARGE,), pairs=PAIRS, seconds=12)


def copy_naive() -> Sweep:
    """The cost of the naive copy's accesses: loads or stores down a column, rows whose pitch is a power of two."""
    hosts = {"naive": make_copy(CopyConfig(vector=1, loads_first=False, down=True)), "coalesced": make_copy(ONE_BY_ONE)}
    directions: tuple[Direction, ...] = ("down", "along")
    for loads, stores in product(directions, repeat=2):
        hosts[f"loads {loads}, stores {stores}"] = make_directed_copy(loads, stores)
    return Sweep(PROBLEM, with_hosts(PROBLEM, hosts), CAUSE_SHAPES, CAUSE_COUNTERS, pairs=PAIRS, seconds=12)
