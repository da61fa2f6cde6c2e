"""The GEMMs of notebooks 07 and 08, in cuTile."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import cuda.tile as ct

from tutorlib.compiling.compiled import Compiled
from tutorlib.compiling.dsls import compile_cutile
from tutorlib.compiling.spec import DType, TensorSpec
from tutorlib.models.l2 import grouped

Int: TypeAlias = ct.Constant[int]  # known when a kernel is compiled
Bool: TypeAlias = ct.Constant[bool]
ZERO = ct.PaddingMode.ZERO
SMEM = 227 * 1024  # bytes of shared memory that a block may have on sm_90, CUDA C++ Programming Guide, table 24
REGISTER_FILE = 65536  # registers of an SM, CUDA C++ Programming Guide, table 24
PRODUCERS = 4  # warps of a CTA that load, in addition to those that compute: counted in the compiler's report for sm_90
LEAST = 64  # accumulators: with fewer, a thread loads too much for what it computes
STAGES = 2  # tiles of A and B in shared memory, at least: one in use, one in flight


@dataclass(frozen=True)
class Config:
    """One point of the space: tile of C, depth along K, rows of a group of tiles, and hints to the compiler.

    num_worker_warps: of the warps that compute, 4 where it is None.
    """

    tm: int
    tn: int
    tk: int = 64
    group: int = 8
    num_ctas: int = 1
    occupancy: int = 1
    num_worker_warps: int | None = None

    def __str__(self) -> str:
        """As "128×256×64, 8 warps, 2 CTAs"."""
        parts = [f"{self.tm}×{self.tn}×{self.tk}", f"{self.num_worker_warps or 4} warps"]
        parts += [f"{self.num_ctas} CTAs"] if self.num_ctas > 1 else []
        return ", ".join(parts + ([f"{self.occupancy} blocks on an SM"] if self.occupancy > 1 else []))

    @property
    def hints(self) -> dict[str, int | None]:
        """As `kernel.replace_hints` takes them."""
        return {"num_ctas": self.num_ctas, "occupancy": self.occupancy, "num_worker_warps": self.num_worker_warps}

    @property
    def constants(self) -> tuple[int, ...]:
        """The kernel's arguments after the three tensors."""
        return (self.tm, self.tn, self.tk, self.group)

    def tiles(self, shape: tuple[int, ...]) -> int:
        """How many tiles C has, of this shape (M, N)."""
        return -(-shape[0] // self.tm) * -(-shape[1] // self.tn)

    def grid(self, shape: tuple[int, ...], sms: int) -> tuple[int, int, int]:
        """As many blocks as run at once, and no more than there are tiles of C."""
        return (min(self.tiles(shape), sms // self.num_ctas * self.occupancy), 1, 1)

    def fits(self, element_bytes: int = 2) -> bool:
        """Whether a thread has more registers than accumulators, and STAGES tiles of A and B fit into shared memory."""
        warps = self.num_worker_warps or 4
        most = REGISTER_FILE / (self.occupancy * (warps + PRODUCERS) * 32)  # registers of a thread
        stage = (self.tm + self.tn) * self.tk * element_bytes / self.num_ctas
        return self.tm * self.tn < most * self.num_ctas * warps * 32 and STAGES * stage * self.occupancy <= SMEM


def space(element_bytes: int = 2) -> Iterator[Config]:
    """Every configuration of these tiles and hints that fits and gives each thread at least LEAST accumulators."""
    for tk, tm, tn, num_ctas, warps in product((64, 128, 32), (64, 128, 256), (64, 128, 256), (1, 2), (4, 8)):
        config = Config(tm, tn, tk, num_ctas=num_ctas, num_worker_warps=warps)
        if config.fits(element_bytes) and tm * tn >= num_ctas * warps * 32 * LEAST:
            yield config


def tile_of_product(a, b, m, n, tm, tn, tk):
    """Tile (m, n) of A·Bᵀ in fp32, (tm, tn): the walk along K of exercise 07.1."""
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        rows = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        columns = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(rows, ct.transpose(columns), total)
    return total


@ct.kernel
def plain(a, b, c, tm: Int, tn: Int, tk: Int):
    """C = A·Bᵀ, one block for each tile of C, on a grid of two dimensions."""
    m, n = ct.bid(0), ct.bid(1)
    ct.store(c, (m, n), tile_of_product(a, b, m, n, tm, tn, tk).astype(c.dtype))


@ct.kernel
def persistent(a, b, c, tm: Int, tn: Int, tk: Int, group: Int):
    """C = A·Bᵀ; each block computes every n-th tile of C, n the number of blocks, in strips of `group` rows of tiles.

    With as many blocks as tiles it is the kernel that is not persistent.
    """
    rows, columns = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        m, n = grouped(tile, rows, columns, group)
        ct.store(c, (m, n), tile_of_product(a, b, m, n, tm, tn, tk).astype(c.dtype))


def compiled(config: Config, arch: str = "sm_90", dtype: DType = "bf16", size: int = 4096) -> Compiled:
    """`persistent`, compiled for square matrices, on any machine."""
    specs = [TensorSpec((size, size), dtype)] * 3
    return compile_cutile(persistent.replace_hints(**config.hints), [*specs, *config.constants], arch)


@ct.kernel
def through_tf32(a, b, c, tm: Int, tn: Int, tk: Int, group: Int):
    """`persistent` for matrices in fp32, whose tiles are rounded to tf32."""
    rows, columns = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        m, n = grouped(tile, rows, columns, group)
        total = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.cdiv(a.shape[1], tk)):
            x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO).astype(ct.tfloat32)
            y = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO).astype(ct.tfloat32)
            total = ct.mma(x, ct.transpose(y), total)
        ct.store(c, (m, n), total)


@ct.kernel
def add_parts(parts, c, tm: Int, tn: Int):
    """The second pass of split-K: C is the sum of `parts` (S, M, N)."""
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for part in range(parts.shape[0]):
        total += ct.reshape(ct.load(parts, (part, m, n), (1, tm, tn)), (tm, tn))
    ct.store(c, (m, n), total.astype(c.dtype))


@ct.kernel
def atomic_products(a, b, sums, splits: Int, tm: Int, tn: Int, tk: Int, relaxed: Bool):
    """Split-K without a second pass: `splits` blocks add their products to a tile of `sums`, fp32 zeros before.

    relaxed: whether an addition orders no other access to memory; by default, cuTile's do.
    """
    m, n, part = ct.bid(0), ct.bid(1), ct.bid(2)
    steps = ct.cdiv(a.shape[1], tk)
    run = ct.cdiv(steps, splits)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(part * run, min(steps, part * run + run)):
        x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        y = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(x, ct.transpose(y), total)
    rows, columns = m * tm + ct.arange(tm, dtype=ct.int32), n * tn + ct.arange(tn, dtype=ct.int32)
    order = ct.MemoryOrder.RELAXED if relaxed else ct.MemoryOrder.ACQ_REL
    ct.atomic_add(sums, (rows[:, None], columns[None, :]), total, memory_order=order)


@ct.kernel
def fp8_tile(a, b, c, tm: Int, tn: Int, tk: Int, fast: Bool):
    """C = A·Bᵀ of fp8, a block for each tile of C. fast: whether the tensor cores add all of K."""
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        rows = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        columns = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(rows, ct.transpose(columns), total, use_fast_acc=fast)
    ct.store(c, (m, n), total.astype(c.dtype))


@ct.kernel
def slabs(a, b, c, tn: Int, tk: Int, runtime_zero: Bool, near: Int, far: Int, tma: Bool):
    """All of up to 320 rows at once: C's columns in slabs of tn, as Cᵀ, in accumulators for 256 and for 64 rows.

    runtime_zero: whether accumulators start from a zero that the compiler does not know; the grid has one dimension.
    near, far: latency hints, far for the tile of 256 rows; 0: none. tma: whether the stores go by TMA.
    """
    zero = ct.bid(1) if runtime_zero else 0
    near, far = near if near else None, far if far else None
    for n in range(ct.bid(0), ct.cdiv(b.shape[0], tn), ct.num_blocks(0)):
        upper, lower = ct.full((tn, 256), zero, ct.float32), ct.full((tn, 64), zero, ct.float32)
        for k in range(ct.cdiv(a.shape[1], tk)):
            slab = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO, latency=near)
            first = ct.load(a, (0, k), (256, tk), padding_mode=ZERO, latency=far)
            rest = ct.load(a, (4, k), (64, tk), padding_mode=ZERO, latency=near)
            upper = ct.mma(slab, ct.transpose(first), upper, use_fast_acc=True)
            lower = ct.mma(slab, ct.transpose(rest), lower, use_fast_acc=True)
        ct.store(c, (0, n), ct.transpose(upper.astype(c.dtype)), allow_tma=tma)
        ct.store(c, (4, n), ct.transpose(lower.astype(c.dtype)), allow_tma=tma)
