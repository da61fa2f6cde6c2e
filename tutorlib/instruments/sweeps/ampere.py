"""The sweeps of notebooks 04, 05 and 09 to 12: copies, and the ladder's rungs, all of them and those of mma.sync."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from cutlass import Constexpr, const_expr, cute

from tutorlib.instruments.ceilings import mma_sync_tflops
from tutorlib.instruments.sweeps.sweep import Candidate, Sweep
from tutorlib.kernels.ampere.config import BYTES, MOST_SMEM, GemmConfig
from tutorlib.kernels.ampere.gemm import Order, in_eights, make_gemm
from tutorlib.kernels.ampere.main_loops import multistage
from tutorlib.kernels.copies import CopyConfig, Direction, make_copy, make_directed_copy
from tutorlib.kernels.hopper import launch
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.ladder import AMPERE_RUNGS, LADDER, AmpereRung, HopperRung, Rung
from tutorlib.kernels.nvidia_example import against_nvidia
from tutorlib.machine import device
from tutorlib.measuring import counters
from tutorlib.measuring.launchers import CuteLauncher, HopperLauncher, HostLauncher
from tutorlib.models.l2 import grouped, raster
from tutorlib.problems.catalogue import copy, gemm
from tutorlib.problems.problem import Problem, Shape
from tutorlib.problems.work import Launcher
from tutorlib.problems.wrong import by

GEMM = gemm("bf16")

# Copies ---------------------------------------------------------------------------------------------------------

COPY, FLOATS = copy("bf16"), copy("fp32")
BLOCK = (32, 8, 1)  # threads in x, y, z; a warp has one y
copies = partial(Sweep, pairs=10, seconds=12)  # each pair copies 1 GiB

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


def with_hosts(problem: Problem, hosts: Mapping[str, Callable[..., None]]) -> tuple[Candidate, ...]:
    return tuple(Candidate(name, CuteLauncher(host, problem)) for name, host in hosts.items())


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
    hosts = {"along rows": make_element_copy(True), "down columns": make_element_copy(False)}
    return copies(FLOATS, with_hosts(FLOATS, hosts), ((16384, 16384),))


def copy_rungs() -> Sweep:
    """Rung 3's changes, one at a time."""
    hosts = {name: make_copy(config) for name, config in STEPS.items()}
    return copies(COPY, with_hosts(COPY, hosts), ((32768, 16384),))


def copy_naive() -> Sweep:
    """The cost of the naive copy's accesses: loads or stores down a column, rows whose pitch is a power of two."""
    hosts = {"naive": make_copy(CopyConfig(vector=1, loads_first=False, down=True)), "coalesced": make_copy(ONE_BY_ONE)}
    directions: tuple[Direction, ...] = ("down", "along")
    for loads, stores in product(directions, repeat=2):
        hosts[f"loads {loads}, stores {stores}"] = make_directed_copy(loads, stores)
    counted = ("L1_LOADED", "L1_STORED", "L2_READ", "L2_WRITTEN", "MEMORY_READ", "MEMORY_WRITTEN")
    shapes = ((4096, 16384), (4096, 16448))  # rows of 32 KiB, and of 128 bytes more: no power of two
    return copies(COPY, with_hosts(COPY, hosts), shapes, tuple(getattr(counters, name) for name in counted))


# The GEMM ladder ------------------------------------------------------------------------------------------------


def cubes(*sizes: int) -> tuple[Shape, ...]:
    return tuple((n, n, n) for n in sizes)


SQUARES = cubes(4096, 8192, 2048, 1024, 512, 3072, 6144, 1536, 768)


def rungs(problem: Problem, ladder: Iterable[Rung] = LADDER) -> tuple[Candidate, ...]:
    """The ladder's kernels."""
    return tuple(
        Candidate(rung.title, rung_launcher(rung, problem), rung.smem_bytes, needs=rung.needs) for rung in ladder
    )


def rung_launcher(rung: Rung, problem: Problem) -> Launcher:
    """A rung, for the GPU at hand."""
    match rung:
        case AmpereRung():
            return CuteLauncher(rung.host, problem)
        case HopperRung(config=HopperConfig() as config):
            return HopperLauncher(config)
        case _:
            return HostLauncher(launch.gemm)


def find_roof() -> dict[str, Any]:
    """The rate of mma.sync where nothing keeps it waiting."""
    return {"mma_sync_tflops": mma_sync_tflops()}


def gemm_rungs() -> Sweep:
    """The ladder over square sizes, and the roof of its lower part."""
    return Sweep(GEMM, rungs(GEMM), SQUARES, look=find_roof)


def gemm_nvidia() -> Sweep:
    """The rungs of mma.sync beside NVIDIA's own CuTe GEMM for the same instructions. Raises NoExample."""
    problem = against_nvidia()
    return Sweep(problem, rungs(problem, AMPERE_RUNGS), SQUARES[:3])


def gemm_waves() -> Sweep:
    """The rungs of two and of three stages around 3072, where a third wave begins on an H200."""
    ladder = (rung for rung in AMPERE_RUNGS if rung.name in ("grid swizzle", "three stages"))
    return Sweep(GEMM, rungs(GEMM, ladder), cubes(*(128 * n for n in (24, 22, 23, 28, 26, 20, 30))))


def staged(tiles: Mapping[tuple[int, int, int], tuple[int, int]], shapes: Sequence[Shape]) -> Sweep:
    """Notebook 12's kernel with these tiles (and warps), from two stages to five, or as many as any GPU has room for.

    Each point knows the registers that its kernel took.
    """

    def candidate(config: GemmConfig) -> Candidate:
        launcher = CuteLauncher(make_gemm(config, multistage, in_eights), GEMM)
        return Candidate(
            f"{by(config.tile)}, {config.stages} stages",
            launcher,
            config.smem_bytes,
            {"tile": list(config.tile), "warps": list(config.warps), "stages": config.stages},
            inspect=lambda shape: {"registers": launcher.compiled(shape, device.need_gpu().arch).registers},
        )

    most = {(m, n, k): min(5, MOST_SMEM // ((m + n) * k * BYTES)) for m, n, k in tiles}
    configs = [GemmConfig(tile, warps, stages) for tile, warps in tiles.items() for stages in range(2, most[tile] + 1)]
    return Sweep(GEMM, tuple(map(candidate, configs)), tuple(shapes))


def gemm_stages() -> Sweep:
    """Notebook 12's kernel at 4096³ for every number of stages and a choice of tiles."""
    tiles = {
        (64, 64, 64): (2, 1),
        (128, 64, 64): (2, 2),
        (128, 128, 32): (2, 2),
        (128, 128, 64): (2, 2),
        (128, 256, 32): (2, 4),
        (128, 256, 64): (2, 4),
    }
    return staged(tiles, SQUARES[:1])


def gemm_depth() -> Sweep:
    """Cases in which stages matter: a grid that leaves each SM one block, and a K of a few tiles."""
    return staged(dict.fromkeys(((128, 128, 32), (128, 128, 64)), (2, 2)), ((1024, 1024, 1024), (4096, 4096, 256)))


def ordered(orders: Mapping[str, Order], shapes: Sequence[Shape], *counted: str) -> Sweep:
    """Notebook 11's kernel, with two stages, its blocks in these orders."""
    config = GemmConfig(stages=2)
    hosts = {name: make_gemm(config, multistage, order) for name, order in orders.items()}
    candidates = tuple(
        Candidate(name, CuteLauncher(host, GEMM), config.smem_bytes, {"tile": list(config.tile)})
        for name, host in hosts.items()
    )
    return Sweep(GEMM, candidates, tuple(shapes), counted)


def gemm_orders() -> Sweep:
    """Notebook 11's question: the same kernel with its blocks in other orders, and what memory has to send."""
    orders = {"raster": raster} | {f"groups of {group}": partial(grouped, group=group) for group in (4, 8, 16)}
    return ordered(orders, cubes(8192, 4096, 2048), counters.MEMORY_READ, counters.L2_READ, counters.WAVES)


def gemm_pitch() -> Sweep:
    """Notebook 11's other question: does it matter that rows begin at multiples of a power of two?

    The tall A is read by as many blocks as an H100 holds, all of which walk along their own rows: at every moment their
    addresses differ by multiples of a row's length. C is so narrow that memory is the limit.
    """
    lengths = (8192, 8128, 8256, 8064, 8320)
    return ordered({"raster": raster}, [(33792, 128, k) for k in lengths] + [(8192, 8192, k) for k in lengths[:3]])
