"""The configuration of a Hopper GEMM, its rules, and the sizes that follow from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tutorlib.kernels import ConfigError as ConfigError
from tutorlib.kernels import whole_numbers

SMEM_ROOM = 233_472 - 1_024  # bytes of an SM, without what the system takes of a block's share
MBARRIER_BYTES = 8
SMEM_ALIGNMENT = 1_024  # a swizzle pattern of 8 rows × 128 bytes begins at multiples of itself
REGISTERS_PER_SM = 65_536
REGISTERS_BESIDE_RESULTS = 26  # addresses, counters and one row of C in the epilogue
WARPGROUP = 128  # threads
MMA_M = 64  # rows of C that one wgmma of a warpgroup computes
STORE_ROWS = MMA_M // 4  # of which each of its warps has these
MAX_CLUSTER = 8  # blocks that every Hopper GPU can run
MIN_SHARED_K_TILES = 4  # a smaller part of a tile takes longer to add than to compute
BYTES = {"bf16": 2, "fp16": 2, "e4m3": 1}
PATTERN_ROWS = 8  # of a swizzle pattern
WORDS = {"schedule": ("cooperative", "pingpong"), "raster": ("m", "n"), "dtype": tuple(BYTES)}
Major = Literal["k", "mn"]
Majors = tuple[Major, Major]


@dataclass(frozen=True)
class HopperConfig:
    """The division of the work, and its roles: all compile-time parameters besides the tensors' shapes.

    tile: (M, N, K) of a block's share of C and of one step along K.
    schedule: a producer warpgroup loads. "cooperative": the others share a tile. "pingpong": two others have a tile
        each and take turns with the tensor cores.
    warpgroups: that multiply; None: 2, or 1 where they would have to share 64 rows.
    cluster: blocks (M, N) that share their loads by multicast.
    stages: buffers for A and B; None: as many as fit.
    store_stages: buffers for each warp's 16 rows in the epilogue; None: all that is left, at least 2.
    persistent: as many blocks as the GPU holds, each takes tile after tile; else one block for each tile.
    raster: direction in which tiles follow one another, inside a band that is `group` cluster tiles wide;
        snake: every other band is walked backwards. zigzag: so is K in every other tile, while L2 holds its end.
    split_k: blocks of a cluster that share a tile's K, and its accumulators through distributed shared memory.
    stream_k: all blocks share the tiles of the last, partly filled wave.
    defer_stores: a tile's accumulators wait in registers until the next tile's multiplication is in flight.
    l2_a, l2_b: how long L2 should keep what is read: "normal", "evict_first" or "evict_last".
    polls: waits for barriers poll, and do not suspend.
    pdl: the kernel starts while the one before it on the stream ends, and waits for what that one writes.
    transposed: columns of C are contiguous, not rows, as where A and B have changed places.
    majors: which mode of A, and of B, is contiguous: "k", or "mn", A's M and B's N.
    dtype: of A and B; C is bf16 where they are e4m3.
    scaled: C is multiplied by a scale of A and one of B.
    """

    tile: tuple[int, int, int] = (128, 256, 64)
    schedule: Literal["cooperative", "pingpong"] = "cooperative"
    warpgroups: int | None = None
    cluster: tuple[int, int] = (1, 1)
    stages: int | None = None
    store_stages: int | None = None
    persistent: bool = True
    raster: Literal["m", "n"] = "n"
    group: int = 8
    snake: bool = False
    zigzag: bool = False
    split_k: int = 1
    stream_k: bool = False
    defer_stores: bool = False
    l2_a: str = "normal"
    l2_b: str = "normal"
    polls: bool = False
    pdl: bool = True
    transposed: bool = False
    majors: Majors = ("k", "k")
    dtype: Literal["bf16", "fp16", "e4m3"] = "bf16"
    scaled: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "tile", whole_numbers("tile", self.tile, 3))
        object.__setattr__(self, "cluster", whole_numbers("cluster", self.cluster, 2))
        object.__setattr__(self, "majors", tuple(self.majors))
        for name in ("group", "split_k", "warpgroups", "stages", "store_stages"):
            given = getattr(self, name)
            if given is not None or name in ("group", "split_k"):  # None: it follows
                whole_numbers(name, given, 1, 1)
        for broken in self.broken_rules():
            raise ConfigError(broken)

    # What follows ----------------------------------------------------------------------------------------------

    @property
    def c_dtype(self) -> str:
        return "bf16" if self.dtype == "e4m3" else self.dtype

    @property
    def callers_majors(self) -> Majors:
        """Of the matrices that change places where C is transposed, as they were before."""
        return self.majors[::-1] if self.transposed else self.majors

    @property
    def mma_warpgroups(self) -> int:
        return self.warpgroups or (1 if self.schedule != "pingpong" and self.tile[0] == MMA_M else 2)

    @property
    def tile_warpgroups(self) -> int:
        """Warpgroups that share a tile."""
        return 1 if self.schedule == "pingpong" else self.mma_warpgroups

    @property
    def threads(self) -> int:
        return WARPGROUP * (self.mma_warpgroups + 1)

    @property
    def cluster_size(self) -> int:
        """Blocks that share their loads."""
        return self.cluster[0] * self.cluster[1]

    @property
    def cluster_blocks(self) -> int:
        """Blocks that are launched as a cluster."""
        return self.cluster_size * self.split_k

    @property
    def store_columns(self) -> int:
        """Columns of C that a warp stores at a time: one row of them is 128, 64 or 32 bytes.

        The longer, the better for L2, whose lines have 128. So the last ones may be stored once more with others, where
        rows of C are contiguous and a tile is one block's.
        """
        n = self.tile[1]
        if self.transposed or self.split_k > 1:
            widths = [width for width in (64, 32, 16) if n % width == 0]
            return max(widths, key=lambda width: self.receivers_of(self.steps_of(width)))
        return min((width for width in (64, 32) if width <= n), key=lambda width: -(-n // width) * width, default=16)

    @property
    def store_places(self) -> tuple[tuple[int, int], ...]:
        """For each store that a warp makes of its share of a tile: (64 rows, first column)."""
        width, n = self.store_columns, self.tile[1]
        columns = [min(first, n - width) for first in range(0, n, width)]
        return tuple((m_atom, column) for m_atom in range(self.store_steps // len(columns)) for column in columns)

    @property
    def store_steps(self) -> int:
        """Stores that a warp would make of its share of a tile; with split_k each block makes a part of them."""
        return self.steps_of(self.store_columns)

    def steps_of(self, columns: int) -> int:
        """How many stores of this many columns a warp's share of a tile takes."""
        return self.tile[0] // (MMA_M * self.tile_warpgroups) * -(-self.tile[1] // columns)

    @property
    def accumulators(self) -> int:
        """Registers of a thread that hold its share of a tile of C in fp32."""
        return self.tile[0] * self.tile[1] // (WARPGROUP * self.tile_warpgroups)

    @property
    def stage_bytes(self) -> int:
        m, n, k = self.tile
        return (m + n) * k * BYTES[self.dtype]

    @property
    def stage_room(self) -> int:
        """Bytes of shared memory for a stage and its two mbarriers."""
        return self.stage_bytes + 2 * MBARRIER_BYTES

    @property
    def store_stage_bytes(self) -> int:
        return self.mma_warpgroups * MMA_M * self.store_columns * 2

    @property
    def receivers(self) -> int:
        """Blocks, of those that share a tile's K, that add up and store a part of it each; the others only give."""
        return self.receivers_of(self.store_steps)

    def receivers_of(self, steps: int) -> int:
        """The most blocks among which this many stores can be divided equally."""
        return next(count for count in range(self.split_k, 0, -1) if steps % count == 0)

    @property
    def given_bytes(self) -> int:
        """Accumulators that the others who share a tile's K give a receiver, for its part of the tile."""
        return (self.split_k - 1) * (self.tile[0] * self.tile[1] // self.receivers) * 4

    @property
    def other_bytes(self) -> int:
        """Bytes of shared memory beside stages and stores: mbarriers for given accumulators."""
        return 2 * MBARRIER_BYTES * (self.split_k > 1)

    @property
    def ab_stages(self) -> int:
        """Stages of A and B; each also needs two mbarriers."""
        stores = self.store_stages or min(2, self.store_steps)
        room = SMEM_ROOM - stores * self.store_stage_bytes - self.other_bytes
        return self.stages or room // self.stage_room

    @property
    def store_buffers(self) -> int:
        left = SMEM_ROOM - self.ab_stages * self.stage_room - self.other_bytes
        most = self.store_steps // self.receivers
        return self.store_stages or max(1, min(left // self.store_stage_bytes, most))

    @property
    def smem_bytes(self) -> int:
        return self.ab_stages * self.stage_room + self.store_buffers * self.store_stage_bytes + self.other_bytes

    @property
    def launch_registers(self) -> int:
        """Registers of each thread when a block starts."""
        return min(REGISTERS_PER_SM // self.threads // 8 * 8, 255)

    @property
    def moves_registers(self) -> bool:
        """The producer gives registers to the warpgroups that multiply, which start with too few."""
        return self.launch_registers < 232

    @property
    def register_split(self) -> tuple[int, int]:
        """(producer's, consumers') registers for each thread after setmaxnreg."""
        producer = 24 if self.mma_warpgroups < 3 else 32
        pool = self.launch_registers * (self.mma_warpgroups + 1)  # of a thread in each warpgroup together
        most = (pool - producer) // self.mma_warpgroups // 8 * 8
        return producer, min(most, 240)

    @property
    def multiply_registers(self) -> int:
        """Registers of a thread that multiplies."""
        return self.register_split[1] if self.moves_registers else self.launch_registers

    @property
    def result_registers(self) -> int:
        """Registers of a thread that hold accumulators: its own, deferred ones, and another block's."""
        count = self.accumulators + self.defer_stores * self.accumulators // 2
        if self.split_k > 1:
            count += self.accumulators // self.receivers  # a part of them, from another block
        return count

    # Rules -----------------------------------------------------------------------------------------------------

    def broken_rules(self) -> Iterator[str]:
        """A sentence for each rule that this configuration breaks."""
        for name, known in WORDS.items():
            if (word := getattr(self, name)) not in known:
                yield f"{name} = {word!r} is none of {', '.join(known)}"
        m, n, k = self.tile
        row_bytes = k * BYTES[self.dtype]
        warpgroups = self.tile_warpgroups
        if self.split_k > 1 and (self.persistent or self.stream_k or self.defer_stores):
            yield (
                f"split_k = {self.split_k}: parts of a tile go to blocks of their own: not persistent, no stream_k, "
                "no defer_stores"
            )
        if m % (MMA_M * warpgroups) or m <= 0:
            yield f"tile M = {m}: a wgmma computes {MMA_M} rows, so {warpgroups} warpgroups need multiples of that"
        if n % 16 or not 16 <= n <= 256:
            yield f"tile N = {n}: a wgmma has at most 256 columns, and stmatrix stores 16 of them at a time"
        if row_bytes != 64 and row_bytes not in range(128, 513, 128):
            yield f"tile K = {k}: a row must fill 64 or up to four times 128 bytes, the widths of TMA's swizzles"
        if self.tile[0] > 256:
            yield f"tile M = {m}: a TMA box has at most 256 rows"
        if self.schedule == "pingpong" and self.mma_warpgroups != 2:
            yield f"warpgroups = {self.mma_warpgroups}: ping-pong takes exactly 2"
        if self.mma_warpgroups > 3:
            yield f"warpgroups = {self.mma_warpgroups}: 1 to 3 can multiply; more leave none enough registers"
        if not all(size in (1, 2, 4, 8) for size in self.cluster) or self.cluster_size > MAX_CLUSTER:
            yield f"cluster = {self.cluster}: each side is 1, 2, 4 or 8, and both together at most {MAX_CLUSTER} blocks"
        rows = [size if major == "k" else k for size, major in zip((m, n), self.majors, strict=False)]  # in a stage
        if any(count % (PATTERN_ROWS * sharing) for count, sharing in zip(rows, self.cluster[::-1], strict=False)):
            yield f"cluster = {self.cluster}: a block's part of a shared load must be whole swizzle patterns of 8 rows"
        if not set(self.majors) <= {"k", "mn"} or len(self.majors) != 2:
            yield f"majors = {self.majors}: A and B each have 'k' contiguous, or 'mn'"
        if self.dtype == "e4m3" and "mn" in self.majors:
            yield f"majors = {self.majors}: wgmma reads elements of 8 bits only where K is contiguous"
        if self.ab_stages < 2:
            yield f"{self.ab_stages} stages: loads can only run ahead of the tensor cores with 2 or more"
        if self.given_bytes > self.ab_stages * max(m, n) * row_bytes:
            yield f"split_k = {self.split_k}: the other blocks' accumulators do not fit into a matrix's stages"
        if self.smem_bytes > SMEM_ROOM:
            yield f"shared memory: {self.smem_bytes:,} bytes, and a block can have {SMEM_ROOM:,}"
        results = self.result_registers
        if results + REGISTERS_BESIDE_RESULTS > self.multiply_registers:
            yield (
                f"registers: {results} for results and {REGISTERS_BESIDE_RESULTS} others do not fit in "
                f"the {self.multiply_registers} that a thread can have"
            )
        if self.stream_k and self.defer_stores and results > self.launch_registers and self.store_steps % 2:
            yield (  # found by compiling: ptxas finds room for an even number of stores, and for fewer results
                f"registers: with stream_k, {results} for results, of which {self.store_steps} stores are deferred, "
                f"spill: more than {self.launch_registers} need an even number of stores, or no defer_stores"
            )
        if n // 2 + REGISTERS_BESIDE_RESULTS > self.launch_registers:
            yield f"tile N = {n}: a wgmma's results must fit in the {self.launch_registers} registers of a new thread"
        if self.schedule != "cooperative" and self.defer_stores:
            yield f"{self.schedule}: only cooperative warpgroups can defer stores"
        if self.cluster_blocks > MAX_CLUSTER >= self.cluster_size:
            yield f"split_k = {self.split_k}: {self.cluster_blocks} blocks in a cluster, of at most {MAX_CLUSTER}"
        if self.stream_k and not self.persistent:
            yield "stream_k: sharing the last wave evenly needs persistent blocks"
        if not self.persistent and self.schedule == "pingpong":
            yield "ping-pong needs persistent blocks: with a single tile there is no other tile to take turns with"
        for hint in (self.l2_a, self.l2_b):
            if hint not in L2_HINTS:
                yield f"L2 hint {hint!r} is none of {', '.join(L2_HINTS)}"


# The upper bits of a cache policy, as createpolicy makes them.
L2_HINTS = {"normal": 0x1000000000000000, "evict_first": 0x12F0000000000000, "evict_last": 0x14F0000000000000}
