"""Exercises of notebook 08: CUDA Tile C++, from a vector addition to a GEMM beside cuBLAS."""

from collections.abc import Callable
from dataclasses import dataclass

from tutorlib.checking.cpp import CppExercise
from tutorlib.checking.values import Mistake, ValueExercise, equals
from tutorlib.compiling.driver import LaunchGrid
from tutorlib.machine import device
from tutorlib.problems.catalogue import gemm, vector_add
from tutorlib.problems.problem import Shape

VECTOR_TILE = 1024
TILE = (128, 128)  # of C, in the first two GEMMs
RAGGED = ((256, 256, 256), (300, 200, 129), (70, 513, 96))
RAGGED_VECTORS = ((256, 256, 256), (304, 200, 136), (72, 520, 96))  # sizes are multiples of 8
BENCH = (4096, 4096, 4096)


def tiles(length: int, tile: int) -> int:
    return -(-length // tile)


def blocks_of(tile: int) -> Callable[[Shape], LaunchGrid]:
    """The grid for a vector: a block for every `tile` elements."""
    return lambda shape: (tiles(shape[0], tile),)


def tile_grid(shape: Shape) -> LaunchGrid:
    """A block for each tile of C: x counts them down, y across."""
    m, n, _ = shape
    return tiles(m, TILE[0]), tiles(n, TILE[1])


def persistent_grid(shape: Shape) -> LaunchGrid:
    """As many blocks as the GPU has multiprocessors; without one a few, so that each has more tiles to do."""
    gpu = device.gpu()
    return (gpu.sms if gpu else 3,)


# 08.3 tma_carries -----------------------------------------------------------------------------------------------


def tma_carries(m: int, n: int, k: int, element_bytes: int) -> str:
    pitches = {"a": k, "b": k, "c": n}
    return "".join(name for name, pitch in pitches.items() if pitch * element_bytes % 16 == 0)


MISTAKES = (
    Mistake(
        "The distance from one row to the next is the number of columns; the number of rows does not matter.",
        lambda m, n, k, size: "".join(x for x, rows in zip("abc", (m, n, m), strict=True) if rows * size % 16 == 0),
    ),
    Mistake(
        "16 is counted in bytes: multiply by the size of an element.",
        lambda m, n, k, size: tma_carries(m, n, k, 1),
    ),
    Mistake(
        "That is right for elements of 2 bytes only.",
        lambda m, n, k, size: tma_carries(m, n, k, 2),
    ),
    Mistake(
        "B is (N, K) with K contiguous: its rows are K elements long.",
        lambda m, n, k, size: "".join(x for x, pitch in zip("abc", (k, n, n), strict=True) if pitch * size % 16 == 0),
    ),
)

BF16 = [(4096, 4096, 4096, 2), (300, 200, 129, 2), (129, 200, 304, 2), (8, 8, 12, 2), (64, 100, 64, 2), (7, 12, 9, 2)]
OTHERS = [(5, 4, 8, 4), (6, 6, 12, 4), (16, 2, 5, 8), (64, 16, 24, 1), (64, 40, 48, 1), (2, 12, 4, 4)]

# Variants -------------------------------------------------------------------------------------------------------


def in_tiles(tile: int) -> str:
    """A vector addition in tiles of this size, for vectors that they divide."""
    views = "\n".join(
        f"auto {x.upper()} = ct::partition_view{{ct::tensor_span{{{x}, ct::extents{{n}}}}, ct::shape{{{tile}_ic}}}};"
        for x in "abc"
    )
    return f"""\
__tile_global__ void vector_add(const float* a, const float* b, float* c, int n) {{
{views}
int i = ct::bid().x;
C.store_masked(A.load_masked(i) + B.load_masked(i), i);
}}"""


@dataclass(frozen=True)
class Variant:
    """A GEMM in Tile C++ with its choices as fields; all have the parameters of exercise 08.2.

    tile: (M, N, K) of one step. aligned, divisible: what the kernel promises of pointers and of sizes.
    group: rows of tiles that are computed together; 0 for a plain 2-D grid. persistent: blocks stay for many tiles.
    hints: of the kernel, as in "occupancy=2". sizes: M, N and K where they are compiled in, else ().
    """

    tile: tuple[int, int, int] = (128, 128, 64)
    restrict: bool = True
    aligned: bool = True
    divisible: int = 8
    masked: bool = True
    group: int = 0
    persistent: bool = False
    hints: str = ""
    sizes: Shape | tuple[()] = ()

    def grid(self, shape: Shape) -> LaunchGrid:
        down, across = tiles(shape[0], self.tile[0]), tiles(shape[1], self.tile[1])
        if self.persistent:
            return persistent_grid(shape)
        return (down * across,) if self.group else (down, across)

    @property
    def source(self) -> str:
        tm, tn, tk = self.tile
        m, n, k = (f"ct::integral_constant<{size}>{{}}" for size in self.sizes) if self.sizes else "mnk"
        restrict = "__restrict__ " if self.restrict else ""
        masked = "_masked" if self.masked else ""
        promises = [f"{p} = ct::assume_aligned({p}, 16_ic);" for p in "abc"] if self.aligned else []
        promises += [f"{s} = ct::assume_divisible({s}, {self.divisible}_ic);" for s in "mnk"] if self.divisible else []
        one_tile = f"""\
auto acc = ct::zeros<ct::tile<float, ct::shape<{tm}, {tn}>>>();
for (int step : ct::irange(0, (k + {tk - 1}) / {tk})) {{
    auto x = A.load{masked}(i, step);
    auto y = B.load{masked}(j, step);
    acc = ct::mma(x, ct::transpose(y), acc);
}}
C.store{masked}(ct::element_cast<bf16>(acc), i, j);"""
        remapped = f"""\
int first = block / ({self.group} * across) * {self.group};
int height = down - first < {self.group} ? down - first : {self.group};
int i = first + block % ({self.group} * across) % height, j = block % ({self.group} * across) / height;
{one_tile}"""
        counts = f"int down = (m + {tm - 1}) / {tm}, across = (n + {tn - 1}) / {tn};"
        if self.persistent:
            blocks = "for (int block : ct::irange(int(ct::bid().x), down * across, int(ct::num_blocks().x))) {"
            body = f"{counts}\n{blocks}\n{remapped}\n}}"
        elif self.group:
            body = f"{counts}\nint block = ct::bid().x;\n{remapped}"
        else:
            body = f"int i = ct::bid().x, j = ct::bid().y;\n{one_tile}"
        return f"""\
{f"[[ cutile::hint(0, {self.hints}) ]]" if self.hints else ""}
__tile_global__ void gemm(const bf16* {restrict}a, const bf16* {restrict}b, bf16* {restrict}c, int m, int n, int k) {{
{" ".join(promises)}
auto A = ct::partition_view{{ct::tensor_span{{a, ct::extents{{{m}, {k}}}}}, ct::shape{{{tm}_ic, {tk}_ic}}}};
auto B = ct::partition_view{{ct::tensor_span{{b, ct::extents{{{n}, {k}}}}}, ct::shape{{{tn}_ic, {tk}_ic}}}};
auto C = ct::partition_view{{ct::tensor_span{{c, ct::extents{{{m}, {n}}}}}, ct::shape{{{tm}_ic, {tn}_ic}}}};
{body}
}}"""


# --------------------------------------------------------------------------------------------------------------

EXERCISES = (
    CppExercise(
        id="08.1",
        title="vector_add",
        points=3,
        problem=vector_add("fp32"),
        shapes=((1024,), (1,), (5000,)),
        bench_shape=(2**27,),
        tiers=(0.9,),
        grid=blocks_of(VECTOR_TILE),
        hints=(
            "A view for each of the three vectors, like the two of `twice`; the sum of two tiles is `x + y`.",
            "The last block's tile hangs over the end: load_masked and store_masked.",
        ),
    ),
    CppExercise(
        id="08.2",
        title="first gemm",
        points=3,
        problem=gemm("bf16"),
        shapes=RAGGED,
        requires=("wgmma",),
        grid=tile_grid,
        hints=(
            "Three views: A in tiles of 128×64, B in tiles of 128×64 (its rows are N), C in tiles of 128×128.",
            "The steps along K: for (int step : ct::irange(0, (k + 63) / 64)).",
            "x = A.load_masked(i, step), y = B.load_masked(j, step): acc = ct::mma(x, ct::transpose(y), acc).",
        ),
    ),
    ValueExercise(
        id="08.3",
        title="tma_carries",
        points=2,
        cases=(
            equals("bf16", BF16, tma_carries, MISTAKES),
            equals("elements of other sizes", OTHERS, tma_carries, MISTAKES),
        ),
        hints=(
            "A is (m, k), B is (n, k), C is (m, n), all row-major: how many elements lie between two rows?",
            "Columns × element_bytes must be a multiple of 16.",
        ),
    ),
    CppExercise(
        id="08.4",
        title="gemm with promises",
        points=4,
        problem=gemm("bf16"),
        shapes=RAGGED_VECTORS,
        bench_shape=BENCH,
        tiers=(0.9,),
        requires=("wgmma",),
        tma=True,
        grid=tile_grid,
        hints=(
            "The remarks name the line that lacks TMA and what is missing: first the pointer, then the pitch.",
            "assume_aligned and assume_divisible return what they vouch for: a = ct::assume_aligned(a, 16_ic);",
            "Rows of A and B are k elements long, rows of C n; 16 bytes are 8 of them.",
        ),
    ),
    CppExercise(
        id="08.5",
        title="persistent gemm",
        points=5,
        problem=gemm("bf16"),
        shapes=RAGGED_VECTORS,
        bench_shape=BENCH,
        tiers=(0.7, 0.9),
        requires=("wgmma",),
        tma=True,
        spills=False,
        once=True,
        grid=persistent_grid,
        hints=(
            "for (int block : ct::irange(int(ct::bid().x), down * across, int(ct::num_blocks().x))) visits the tiles.",
            "Strips of 8 rows of tiles: a strip has 8 * across tiles; inside it, count down first, then across.",
            "The last strip may be lower: height = down - first < 8 ? down - first : 8.",
        ),
    ),
)
