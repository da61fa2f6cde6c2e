"""The GEMM of notebooks 09 to 12 without what those notebooks are about: a main loop and an order of blocks go in.

C (M, N) = A (M, K) · Bᵀ with B (N, K), all row-major bf16, sums in fp32; sm_80 instructions. Tensors are named by
where they live, as CuTe code does: m in global memory, g the block's tile of it, s in shared memory, r in registers;
tAgA is gA as cut for the threads of a copy, tCrA the registers of A as the MMA wants them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync, warp
from cutlass.memory import SmemAllocator

from tutorlib.l2 import raster

VECTOR = 8  # bf16 elements in 128 bits


class GemmConfig(NamedTuple):
    """How the work is cut up: what is known at compile time besides the tensors' types.

    tile: (M, N, K) of a block's share of C and of one step along K.
    warps: how the warps lie over the tile, (M, N).
    stages: buffers in shared memory, each with a tile of A and one of B.
    """

    tile: tuple[int, int, int] = (128, 128, 64)
    warps: tuple[int, int] = (2, 2)
    stages: int = 1

    @property
    def threads(self) -> int:
        return 32 * self.warps[0] * self.warps[1]

    @property
    def smem_bytes(self) -> int:
        """Shared memory of a block."""
        m, n, k = self.tile
        return self.stages * (m + n) * k * 2

    def grid(self, rows: int, columns: int) -> tuple[int, int]:
        """How many tiles C has in M and in N, partly filled ones included."""
        return -(-rows // self.tile[0]), -(-columns // self.tile[1])


# Layouts --------------------------------------------------------------------------------------------------------


def smem_layout(rows: int, k: int, stages: int) -> cute.ComposedLayout:
    """(rows, k, stages): K-contiguous rows, swizzled so that eight rows' vectors of 16 bytes lie in all 32 banks.

    Rows of 64 elements are 128 bytes: Swizzle⟨3,3,3⟩. Two rows of 32 share 128 bytes: Swizzle⟨2,3,3⟩.
    """
    width = min(k, 64)
    swizzle = cute.make_swizzle(3 if width == 64 else 2, 3, 3)
    atom = cute.make_composed_layout(swizzle, 0, cute.make_layout((8, width), stride=(width, 1)))
    return cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2))


def n_order(config: GemmConfig) -> cute.Layout:
    """Column of the MMA → column of the tile, such that 4 neighbouring atoms give a thread 8 neighbours in memory.

    The MMA's columns are (2 of a thread, 4 threads, warps, 4 atoms, the rest).
    """
    warps = config.warps[1]
    rest = config.tile[1] // (32 * warps)
    return cute.make_layout((2, 4, warps, 4, rest), stride=(1, 8, 32, 2, 32 * warps))


def permuted(tensor: cute.Tensor, mode: int, config: GemmConfig) -> cute.Tensor:
    """The same memory with N, its mode number `mode`, in the order of the MMA's columns."""
    by_mode = [None] * cute.rank(tensor)
    by_mode[mode] = n_order(config)
    return cute.composition(tensor, tuple(by_mode))


def make_copy_g2s(config: GemmConfig, dtype: type[cutlass.Numeric]) -> cute.TiledCopy:
    """cp.async of 128 bits past the L1 cache; threads lie along the rows of a K tile, then down."""
    lanes = min(config.tile[2], 64) // VECTOR
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), dtype, num_bits_per_copy=128)
    threads = cute.make_layout((config.threads // lanes, lanes), stride=(lanes, 1))
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, VECTOR)))


def make_mma(config: GemmConfig, dtype: type[cutlass.Numeric]) -> cute.TiledMma:
    """mma.sync.m16n8k16 on all warps: each has 16 rows and 2 atoms of 8 columns, what one ldmatrix.x4 loads of B."""
    m, n = config.warps
    op = warp.MmaF16BF16Op(dtype, cutlass.Float32, (16, 8, 16))
    return cute.make_tiled_mma(op, cute.make_layout((m, n, 1)), permutation_mnk=(16 * m, 16 * n, 16))


# One thread's share ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GlobalToShared:
    """One operand's way into shared memory, as one thread sees it.

    source: (vector, rows, vectors of a row, K tiles) in global memory. target: the same in shared memory, with
        buffers in place of K tiles.
    places: the coordinates of `source`, and `limit` the matrix's shape; both None where tiles divide it.
    """

    tiled_copy: cute.TiledCopy
    source: cute.Tensor
    target: cute.Tensor
    places: cute.Tensor | None
    limit: tuple[int, int] | None

    def load(self, k_tile: Any, buffer: Any) -> None:
        """Issue cp.async for the K tile; what lies outside the matrix becomes zeros."""
        source, target = self.source[None, None, None, k_tile], self.target[None, None, None, buffer]
        if self.places is None:
            cute.copy(self.tiled_copy, source, target)
            return
        _, rows, vectors = target.shape
        inside, outside = (cute.make_rmem_tensor((1, rows, vectors), cutlass.Boolean) for _ in range(2))
        for m in range(rows):
            for k in range(vectors):
                within = cute.elem_less(self.places[0, m, k, k_tile], self.limit)
                inside[0, m, k], outside[0, m, k] = within, within ^ True
        zeros = cute.make_fragment_like(target)
        zeros.fill(0)
        cute.copy(self.tiled_copy, source, target, pred=inside)
        store = cute.make_copy_atom(CopyUniversalOp(), target.element_type, num_bits_per_copy=128)
        cute.copy(store, zeros, target, pred=outside)


@dataclass(frozen=True)
class Steps:
    """What a main loop is made of, for one thread: load → (commit, wait, barrier) → fetch → multiply.

    k_tiles: how many steps of tile K cover the matrices' K. k_blocks: MMA steps of 16 in one of them.
    stages: buffers in shared memory.
    """

    k_tiles: int
    k_blocks: int
    stages: int
    a: GlobalToShared
    b: GlobalToShared
    s2r_a: cute.TiledCopy
    s2r_b: cute.TiledCopy
    tXsA: cute.Tensor
    tXrA: cute.Tensor
    tXsB: cute.Tensor
    tXrB: cute.Tensor
    tiled_mma: cute.TiledMma
    tCrA: cute.Tensor
    tCrB: cute.Tensor
    tCrC: cute.Tensor

    def load(self, k_tile: Any, buffer: Any) -> None:
        """Issue the copies of a K tile of A and of B, global → shared memory, and go on."""
        self.a.load(k_tile, buffer)
        self.b.load(k_tile, buffer)

    def fetch(self, k_block: int, buffer: Any) -> None:
        """ldmatrix: one K block of a buffer, shared memory → this K block's own registers."""
        cute.copy(self.s2r_a, self.tXsA[None, None, k_block, buffer], self.tXrA[None, None, k_block])
        cute.copy(self.s2r_b, self.tXsB[None, None, k_block, buffer], self.tXrB[None, None, k_block])

    def multiply(self, k_block: int) -> None:
        """mma.sync: add the product of the fetched K block to the sums."""
        cute.gemm(self.tiled_mma, self.tCrC, self.tCrA[None, None, k_block], self.tCrB[None, None, k_block], self.tCrC)


@dataclass(frozen=True)
class Sums:
    """What an epilogue works on: one thread's sums, and where they go.

    tCrC: the sums in fp32. tCgC: their places in C, bf16. coordinates: these places' (row, column) in C.
        All three have the shape ((2 columns, 2 rows), M atoms, (4 N atoms, the rest)).
    gC: the block's tile of C, (M, N), columns as they lie in memory.
    shape: of C. config, math: how the tile is cut; `math` is this thread's slice of the TiledMMA.
    """

    tCrC: cute.Tensor
    tCgC: cute.Tensor
    coordinates: cute.Tensor
    gC: cute.Tensor
    shape: tuple[int, int]
    config: GemmConfig
    math: cute.ThrMma

    @property
    def whole(self) -> bool:
        """No tile of C is partly outside."""
        return all(size % tile == 0 for size, tile in zip(self.shape, self.config.tile, strict=False))

    @property
    def aligned(self) -> bool:
        """Rows of C start at multiples of 16 bytes: then 8 neighbours are inside or outside together."""
        return self.shape[1] % VECTOR == 0

    def rounded(self) -> cute.Tensor:
        """The sums in bf16, in registers of the same shape; 8 neighbours in C are neighbours here."""
        order = ((0, 3), 4, (1, 2))  # in memory's order: columns of an atom, its 4 neighbours, the rest, rows, M atoms
        registers = cute.make_rmem_tensor(cute.make_ordered_layout(self.tCrC.shape, order), self.tCgC.element_type)
        registers.store(self.tCrC.load().to(self.tCgC.element_type))
        return registers


MainLoop = Callable[[Steps], None]
Order = Callable[[Any, int, int], tuple[Any, Any]]
Epilogue = Callable[[Sums], None]
SmemLayout = Callable[[int, int, int], cute.ComposedLayout]


# The parts that a rung may replace ------------------------------------------------------------------------------


@cute.jit
def single_buffer(steps: Steps):
    """Notebook 09: load, wait, compute."""
    for k_tile in range(steps.k_tiles):
        steps.load(k_tile, 0)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, 0)
            steps.multiply(k_block)
        cute.arch.sync_threads()


@cute.jit
def multistage(steps: Steps):
    """Notebooks 10 (two stages) and 12 (any number): tile k lies in buffer k % stages, stages - 1 tiles are ahead."""
    for k_tile in cutlass.range_constexpr(steps.stages - 1):
        if cutlass.const_expr(k_tile < steps.k_tiles):
            steps.load(k_tile, k_tile)
        cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(steps.stages - 2)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    read, write = 0, steps.stages - 1
    for k_tile in range(steps.k_tiles):
        ahead = k_tile + steps.stages - 1
        if ahead < steps.k_tiles:
            steps.load(ahead, write)
        cute.arch.cp_async_commit_group()
        write = read
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 1 < steps.k_blocks):
                steps.fetch(k_block + 1, read)
            else:
                read = (read + 1) % steps.stages
                cute.arch.cp_async_wait_group(steps.stages - 2)
                cute.arch.sync_threads()
                steps.fetch(0, read)
            steps.multiply(k_block)


def grouped(block: Any, grid_m: int, grid_n: int, group: int) -> tuple[Any, Any]:
    """Notebook 11: `group` rows of tiles at a time, the last group smaller where it must be; down inside a group."""
    span = group * grid_n
    first = block // span * group
    rows = cutlass.min(grid_m - first, group)
    return first + block % span % rows, block % span // rows


def in_eights(block: Any, grid_m: int, grid_n: int) -> tuple[Any, Any]:
    """Notebook 11's answer: groups of 8 rows of tiles, but raster order up to 32, where L2 keeps most of A."""
    return grouped(block, grid_m, grid_n, 8 if grid_m > 32 else grid_m)


@cute.jit
def store(sums: Sums):
    """Notebook 09: from registers to C, 8 neighbours as one store of 128 bits where C's rows are aligned."""
    registers = sums.rounded()
    if cutlass.const_expr(sums.whole):
        cute.autovec_copy(registers, sums.tCgC)
    else:
        (_, rows), atoms, (_, rest) = registers.shape
        for m in cutlass.range_constexpr(atoms):
            for row in cutlass.range_constexpr(rows):
                for n in cutlass.range_constexpr(rest):
                    eight = ((None, row), m, (None, n))
                    if cutlass.const_expr(not sums.aligned):
                        store_elements(registers[eight], sums.tCgC[eight], sums.coordinates[eight], sums.shape)
                    elif cute.elem_less(sums.coordinates[(0, row), m, (0, n)], sums.shape):
                        cute.autovec_copy(registers[eight], sums.tCgC[eight])


@cute.jit
def store_elements(registers: cute.Tensor, target: cute.Tensor, coordinates: cute.Tensor, shape: cutlass.Constexpr):
    """One by one, those that are inside."""
    for n in cutlass.range_constexpr(cute.size(registers)):
        if cute.elem_less(coordinates[n], shape):
            target[n] = registers[n]


@cute.jit
def store_through_smem(sums: Sums):
    """Notebook 09's detour: to shared memory as the MMA has them, and from there to C in rows. Whole tiles only."""
    if cutlass.const_expr(not sums.whole):
        raise ValueError(f"C = {sums.shape} is not made of whole tiles")
    rows, columns, _ = sums.config.tile
    rows_of_128_bytes = cute.make_layout((8, 64), stride=(64, 1))
    atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, rows_of_128_bytes)
    tile = cute.tile_to_shape(atom, (rows, columns), (0, 1))
    sC = SmemAllocator().allocate_tensor(sums.gC.element_type, tile, byte_alignment=128)
    cute.autovec_copy(sums.rounded(), sums.math.partition_C(permuted(sC, 1, sums.config)))
    cute.arch.sync_threads()
    atom = cute.make_copy_atom(CopyUniversalOp(), sums.gC.element_type, num_bits_per_copy=128)
    lanes = columns // VECTOR
    threads = cute.make_layout((sums.config.threads // lanes, lanes), stride=(lanes, 1))
    in_rows = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, VECTOR)))
    thread, _, _ = cute.arch.thread_idx()
    mine = in_rows.get_slice(thread)
    from_smem = mine.partition_S(sC)
    registers = cute.make_fragment_like(from_smem)
    cute.copy(in_rows, from_smem, registers)
    cute.copy(in_rows, registers, mine.partition_D(sums.gC))


# The kernel -----------------------------------------------------------------------------------------------------


@cute.kernel
def gemm_kernel(
    mA: cute.Tensor,
    mB: cute.Tensor,
    mC: cute.Tensor,
    config: cutlass.Constexpr,
    main_loop: cutlass.Constexpr,
    order: cutlass.Constexpr,
    epilogue: cutlass.Constexpr,
    smem: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    bM, bN, bK = config.tile
    dtype = mA.element_type
    m, n = order(block, *config.grid(*mC.shape))

    gA = cute.local_tile(mA, (bM, bK), (m, None))  # (bM, bK, k_tiles)
    gB = permuted(cute.local_tile(mB, (bN, bK), (n, None)), 0, config)  # (bN, bK, k_tiles)
    gC = cute.local_tile(mC, (bM, bN), (m, n))  # (bM, bN)
    cA = cute.local_tile(cute.make_identity_tensor(mA.shape), (bM, bK), (m, None))
    cB = permuted(cute.local_tile(cute.make_identity_tensor(mB.shape), (bN, bK), (n, None)), 0, config)
    cC = cute.local_tile(cute.make_identity_tensor(mC.shape), (bM, bN), (m, n))

    memory = SmemAllocator()
    sA = memory.allocate_tensor(dtype, smem(bM, bK, config.stages), byte_alignment=128)
    sB = memory.allocate_tensor(dtype, smem(bN, bK, config.stages), byte_alignment=128)

    g2s = make_copy_g2s(config, dtype)
    copies = g2s.get_slice(thread)

    def global_to_shared(matrix: cute.Tensor, g: cute.Tensor, s: cute.Tensor, c: cute.Tensor, rows: int):
        whole = matrix.shape[0] % rows == 0 and matrix.shape[1] % bK == 0
        places, limit = (None, None) if whole else (copies.partition_S(c), matrix.shape)
        return GlobalToShared(g2s, copies.partition_S(g), copies.partition_D(s), places, limit)

    tiled_mma = make_mma(config, dtype)
    math = tiled_mma.get_slice(thread)
    tCrA = tiled_mma.make_fragment_A(math.partition_A(sA)[None, None, None, 0])  # (8, M atoms, k_blocks)
    tCrB = tiled_mma.make_fragment_B(math.partition_B(sB)[None, None, None, 0])  # (4, N atoms, k_blocks)
    tCgC = math.partition_C(permuted(gC, 1, config))
    tCrC = tiled_mma.make_fragment_C(tCgC)
    tCrC.fill(0.0)

    ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), dtype)
    s2r_a, s2r_b = cute.make_tiled_copy_A(ldmatrix, tiled_mma), cute.make_tiled_copy_B(ldmatrix, tiled_mma)
    steps = Steps(
        k_tiles=cute.size(gA, mode=[2]),
        k_blocks=cute.size(tCrA, mode=[2]),
        stages=config.stages,
        a=global_to_shared(mA, gA, sA, cA, bM),
        b=global_to_shared(mB, gB, sB, cB, bN),
        s2r_a=s2r_a,
        s2r_b=s2r_b,
        tXsA=s2r_a.get_slice(thread).partition_S(sA),
        tXrA=s2r_a.get_slice(thread).retile(tCrA),
        tXsB=s2r_b.get_slice(thread).partition_S(sB),
        tXrB=s2r_b.get_slice(thread).retile(tCrB),
        tiled_mma=tiled_mma,
        tCrA=tCrA,
        tCrB=tCrB,
        tCrC=tCrC,
    )
    main_loop(steps)
    coordinates = math.partition_C(permuted(cC, 1, config))
    epilogue(Sums(tCrC, tCgC, coordinates, gC, mC.shape, config, math))


def make_gemm(
    config: GemmConfig,
    main_loop: MainLoop,
    order: Order = raster,
    epilogue: Epilogue = store,
    smem: SmemLayout = smem_layout,
) -> Callable[..., None]:
    """The host function gemm(a, b, c) of these parts, for cute.Tensors of static shape.

    It raises ValueError while it is compiled where rows of A and B do not start at multiples of 16 bytes.
    """

    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        k = a.shape[1]
        if cutlass.const_expr(k % VECTOR != 0):
            raise ValueError(f"K = {k}: rows must start at multiples of 16 bytes, so K must be a multiple of {VECTOR}")
        grid_m, grid_n = config.grid(*c.shape)
        gemm_kernel(a, b, c, config, main_loop, order, epilogue, smem).launch(
            grid=(grid_m * grid_n, 1, 1), block=(config.threads, 1, 1)
        )

    return gemm
