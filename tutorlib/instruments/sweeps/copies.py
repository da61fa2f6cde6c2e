"""The sweeps of notebooks 04 and 05: coalescing, what each step of a copy gains, and what the naive copy pays for."""

from collections.abc import Callable, Sequence

from cutlass import Constexpr, const_expr, cute

from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.copies.config import CopyConfig
from tutorlib.kernels.copies.directions import make_directed_copy
from tutorlib.kernels.copies.registers import make_copy
from tutorlib.kernels.copies.ring import RingConfig, make_ring_copy
from tutorlib.machine import device
from tutorlib.machine.features import TMA
from tutorlib.measuring import counters
from tutorlib.measuring.launchers import CuteLauncher
from tutorlib.problems.catalogue import copy

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
BEST = {
    "tile 64×128": CopyConfig(WIDE, 256),
    "tile 64×128, loads and stores streaming": CopyConfig(WIDE, 256, loads="streaming", stores="streaming"),
    "tile 64×128, nothing kept in L1": CopyConfig(WIDE, 256, loads="no L1", stores="no L1"),
    "tile 16×512": CopyConfig((16, 512), 256),
    "tile 4×2048": CopyConfig((4, 2048), 256),
    "tile 1×8192": CopyConfig((1, 8192), 256),
    "tile 1×8192, loads and stores streaming": CopyConfig((1, 8192), 256, loads="streaming", stores="streaming"),
    "tile 1×8192, nothing kept in L1": CopyConfig((1, 8192), 256, loads="no L1", stores="no L1"),
    "tile 1×8192, 1024 threads": CopyConfig((1, 8192), 1024),
    "tile 1×16384": CopyConfig((1, 16384), 256),
    "tile 1×16384, 1024 threads": CopyConfig((1, 16384), 1024),
    "tile 2×16384, 512 threads": CopyConfig((2, 16384), 512),
    "tile 1×4096, 512 threads": CopyConfig((1, 4096), 512),
    "tile 1×4096, 256 threads": CopyConfig((1, 4096), 256),
    "tile 1×2048, 256 threads": CopyConfig((1, 2048), 256),
    "tile 1×2048, 128 threads": CopyConfig((1, 2048), 128),
    "tile 1×1024, 128 threads": CopyConfig((1, 1024), 128),
    "tile 2×2048, 512 threads": CopyConfig((2, 2048), 512),
    "tile 4×1024, 512 threads": CopyConfig((4, 1024), 512),
    "tile 16×256, 512 threads": CopyConfig((16, 256), 512),
    "tile 32×128, 512 threads": CopyConfig((32, 128), 512),
    "tile 64×128, 1024 threads": CopyConfig(WIDE, 1024),
}


def through_registers(configs: dict[str, CopyConfig]) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(name, CuteLauncher(make_copy(config), PROBLEM), facts={"in_flight": in_flight(config)})
        for name, config in configs.items()
    )


def in_flight(config: CopyConfig) -> int:
    """Bytes of bf16 that a thread has in flight before its first store."""
    return config.vector * 2 * (config.shares if config.loads_first else 1)


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
    candidates = tuple(Candidate(name, CuteLauncher(host, floats)) for name, host in hosts.items())
    return Sweep(floats, candidates, (FLOATS,), pairs=PAIRS, seconds=12)


def copy_rungs() -> Sweep:
    """Rung 3's changes, one at a time."""
    return Sweep(PROBLEM, through_registers(STEPS), (LARGE,), pairs=PAIRS, seconds=12)


def copy_naive() -> Sweep:
    """The cost of the naive copy's accesses: loads or stores down a column, rows whose pitch is a power of two."""
    naive = CopyConfig(vector=1, loads_first=False, down=True)
    direct = {"naive": naive, "coalesced": ONE_BY_ONE}
    turned = {
        f"loads {loads}, stores {stores}": make_directed_copy(loads, stores)
        for loads in ("down", "along")
        for stores in ("down", "along")
    }
    others = tuple(Candidate(name, CuteLauncher(host, PROBLEM)) for name, host in turned.items())
    return Sweep(PROBLEM, (*through_registers(direct), *others), CAUSE_SHAPES, CAUSE_COUNTERS, pairs=PAIRS, seconds=12)


def copy_best() -> Sweep:
    """Attempts to beat rung 3: longer pieces of a row, hints for the caches, TMA with a ring of tiles."""
    return Sweep(PROBLEM, (*through_registers(BEST), *rings()), (LARGE,), pairs=PAIRS, seconds=40)


def rings() -> Sequence[Candidate]:
    sms = found.sms if (found := device.gpu()) else 1
    configs = {
        "TMA ring of 4, 3 blocks an SM": RingConfig(3 * sms),
        "TMA ring of 6, 2 blocks an SM": RingConfig(2 * sms, stages=6),
        "TMA ring of 4, 3 blocks an SM, evict first": RingConfig(3 * sms, evict_first=True),
        "TMA ring of 6, tile 64×256": RingConfig(sms, (64, 256), 6),
    }
    return [
        Candidate(name, CuteLauncher(make_ring_copy(config), PROBLEM), config.smem_bytes(2), needs=TMA)
        for name, config in configs.items()
    ]
