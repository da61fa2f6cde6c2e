"""C++: notebook 09's GEMMs in CUDA Tile C++, and notebook 13's GEMM in plain CUDA C++."""

from dataclasses import dataclass
from pathlib import Path

from tutorlib.compiling.compiled import LaunchGrid
from tutorlib.machine import device
from tutorlib.problems.problem import Shape

TILE = (128, 128)  # of C, in the first two GEMMs


def tiles(length: int, tile: int) -> int:
    """So many tiles cover a length."""
    return -(-length // tile)


def tile_grid(shape: Shape) -> LaunchGrid:
    """A block for each tile of C: x counts them down, y across."""
    m, n, _ = shape
    return tiles(m, TILE[0]), tiles(n, TILE[1])


def persistent_grid(shape: Shape, ctas: int = 1) -> LaunchGrid:
    """As many blocks as run at once, each on `ctas` SMs; without a GPU a few, so that each has more to do.

    The grid of a kernel with num_cta_in_cga counts clusters, not their CTAs.
    """
    gpu = device.gpu()
    return (gpu.sms // ctas if gpu else 3,)


@dataclass(frozen=True)
class Variant:
    """A GEMM in Tile C++ with its choices as fields; all have the parameters of exercise 09.2.

    tile: (M, N, K) of one step. aligned, divisible: what the kernel promises of pointers and of sizes.
    group: rows of tiles that are computed together; 0 for a plain 2-D grid. persistent: blocks stay for many tiles.
    warps, ctas: hints to the compiler; 0 where it decides.
    """

    tile: tuple[int, int, int] = (128, 128, 64)
    restrict: bool = True
    aligned: bool = True
    divisible: int = 8
    group: int = 0
    persistent: bool = False
    warps: int = 0
    ctas: int = 0

    def grid(self, shape: Shape) -> LaunchGrid:
        down, across = tiles(shape[0], self.tile[0]), tiles(shape[1], self.tile[1])
        if self.persistent:
            return persistent_grid(shape, self.ctas or 1)
        return (down * across,) if self.group else (down, across)

    @property
    def source(self) -> str:
        names = {"num_worker_warps_per_cta": self.warps, "num_cta_in_cga": self.ctas}
        given = ", ".join(f"{name}={value}" for name, value in names.items() if value)
        tm, tn, tk = self.tile
        restrict = "__restrict__ " if self.restrict else ""
        promises = [f"{p} = ct::assume_aligned({p}, 16_ic);" for p in "abc"] if self.aligned else []
        promises += [f"{s} = ct::assume_divisible({s}, {self.divisible}_ic);" for s in "mnk"] if self.divisible else []
        one_tile = f"""\
auto acc = ct::zeros<ct::tile<float, ct::shape<{tm}, {tn}>>>();
for (int step : ct::irange(0, (k + {tk - 1}) / {tk})) {{
    auto x = A.load_masked(i, step);
    auto y = B.load_masked(j, step);
    acc = ct::mma(x, ct::transpose(y), acc);
}}
C.store_masked(ct::element_cast<bf16>(acc), i, j);"""
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
{f"[[ cutile::hint(0, {given}) ]]" if given else ""}
__tile_global__ void gemm(const bf16* {restrict}a, const bf16* {restrict}b, bf16* {restrict}c, int m, int n, int k) {{
{" ".join(promises)}
auto A = ct::partition_view{{ct::tensor_span{{a, ct::extents{{m, k}}}}, ct::shape{{{tm}_ic, {tk}_ic}}}};
auto B = ct::partition_view{{ct::tensor_span{{b, ct::extents{{n, k}}}}, ct::shape{{{tn}_ic, {tk}_ic}}}};
auto C = ct::partition_view{{ct::tensor_span{{c, ct::extents{{m, n}}}}, ct::shape{{{tm}_ic, {tn}_ic}}}};
{body}
}}"""


BENCH = (4096, 4096, 4096)

# What each promise is worth: "+" adds to the line above, and the last changes one thing in "+ __restrict__".
PROMISES = {
    "nothing": Variant(restrict=False, aligned=False, divisible=0),
    "__restrict__ alone": Variant(aligned=False, divisible=0),
    "aligned pointers": Variant(restrict=False, divisible=0),
    "+ multiples of 8": Variant(restrict=False),
    "+ __restrict__": Variant(),
    "  multiples of 4 instead": Variant(divisible=4),
}
WIDE, SQUARE = (128, 256, 64), (256, 256, 64)
WAYS = {  # from there to cuBLAS
    "2-D grid": Variant(),
    "strips": Variant(group=8),
    "strips, 128×256": Variant(group=8, tile=WIDE),
    "strips, 128×256, 8 warps": Variant(group=8, tile=WIDE, warps=8),
    "persistent": Variant(group=8, persistent=True),
    "persistent, 256×256, 2 CTAs": Variant(group=8, persistent=True, tile=SQUARE, warps=8, ctas=2),
}


@dataclass(frozen=True)
class CudaGemm:
    """A GEMM in plain CUDA C++, for M, N and K that its tile divides. file: its source, in this folder."""

    file: str
    tile: tuple[int, int, int]
    stages: int
    threads: int

    @property
    def source(self) -> str:
        return (Path(__file__).parent / self.file).read_text(encoding="utf-8")

    @property
    def smem_bytes(self) -> int:
        m, n, k = self.tile
        return self.stages * (m + n) * k * 2

    def grid(self, shape: Shape) -> tuple[int, int, int]:
        """One block for each tile of C."""
        return shape[0] // self.tile[0] * (shape[1] // self.tile[1]), 1, 1


THREE_STAGES = CudaGemm("three_stages.cu", (128, 128, 32), stages=3, threads=128)  # layouts as index arithmetic
