"""Memory on an SM: shared memory's banks and their conflicts, mbarriers, the blocks that fit, tensor memory.

32 banks, 4 bytes wide: word w of shared memory is in bank w % 32. A wavefront serves every bank once; threads that
read the same word share it (CUDA C++ Programming Guide, "Shared Memory" of compute capability 5.x and later).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tutorlib.machine.features import BANKS, WARP, WAVEFRONT, WORD


def bank(offset: int, element_bytes: int) -> int:
    """The bank in which the element at this offset (in elements) begins."""
    return offset * element_bytes // WORD % BANKS


def bank_group(offset: int, element_bytes: int) -> int:
    """The 16-byte group of banks, of eight, of the element at this offset."""
    return bank(offset, element_bytes) // 4


def wavefronts(offsets: Sequence[int], element_bytes: int, vector: int = 1) -> int:
    """How many wavefronts one access of a warp costs.

    offsets: of the first element of each thread, in elements; at most 32.
    vector: consecutive elements that each thread reads.
    Threads that read 8 or 16 bytes each are served by halves or quarters of the warp, 128 bytes at a time. Each part
    costs as many wavefronts as its busiest bank has different words to serve.
    Raises ValueError for more than 32 threads or more than 16 bytes a thread.
    """
    each = element_bytes * vector
    if len(offsets) > WARP:
        raise ValueError(f"{len(offsets)} threads; a warp has {WARP}")
    if each > 16:
        raise ValueError(f"{each} bytes a thread; one access moves 16 at most")
    together = min(WARP, WAVEFRONT // each)
    parts = [offsets[start : start + together] for start in range(0, len(offsets), together)]
    return sum(ways(part, element_bytes, vector) for part in parts)


def ways(offsets: Sequence[int], element_bytes: int, vector: int = 1) -> int:
    """The largest number of different words that threads, served together, read from one bank."""
    words: set[int] = set()
    for offset in offsets:
        first, end = offset * element_bytes, (offset + vector) * element_bytes
        words.update(range(first // WORD, (end - 1) // WORD + 1))
    return max(Counter(word % BANKS for word in words).values(), default=0)


# Mbarriers ------------------------------------------------------------------------------------------------------------

KIB = 1024


@dataclass(frozen=True)
class Mbarrier:
    """A counter in shared memory. A phase is complete when no arrival and no announced byte is missing.

    count: the arrivals that each phase needs. missing: of this phase. pending: bytes announced and not yet there; below
    0 where they came unannounced. phase: how many are over; a wait asks for its parity.
    """

    count: int
    missing: int
    pending: int = 0
    phase: int = 0

    def arrive(self, announced: int = 0) -> "Mbarrier":
        """One arrival, with bytes to expect. Raises ValueError where the phase has had all of its arrivals."""
        if not self.missing:
            raise ValueError("an arrival too many")
        return replace(self, missing=self.missing - 1, pending=self.pending + announced).turned()

    def deliver(self, size: int) -> "Mbarrier":
        """TMA has written this number of bytes."""
        return replace(self, pending=self.pending - size).turned()

    def turned(self) -> "Mbarrier":
        """In its next phase, if this one is over."""
        return self if self.missing or self.pending else Mbarrier(self.count, self.count, 0, self.phase + 1)

    def lets_pass(self, parity: int) -> bool:
        """Whether a wait for the phase of this parity returns: it is over, and this is the one after it."""
        return self.phase % 2 != parity


def fresh(count: int) -> Mbarrier:
    """As mbarrier_init leaves it."""
    return Mbarrier(count, count)


# Occupancy: how many blocks of a kernel one SM holds at a time --------------------------------------------------------


@dataclass(frozen=True)
class SM:
    """The resources that the blocks on an SM share.

    shared: bytes of shared memory; reserved: how many of them each block loses to the system.
    registers: of 32 bits, in as many equal register files as there are partitions. A warp gets all of its registers in
    one of them, a multiple of `register_unit`. threads, blocks: how many there may be.
    """

    shared: int
    reserved: int = 1024
    registers: int = 65536
    register_unit: int = 256
    partitions: int = 4
    threads: int = 2048
    blocks: int = 32


# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and its sections on 8.x and 9.0.
A100 = SM(shared=164 * 1024)
H100 = SM(shared=228 * 1024)  # and the H200
BY_ARCH = {"sm_80": A100, "sm_90": H100}


def blocks_per_sm(sm: SM, smem_bytes: int, registers: int, threads: int) -> int:
    """For blocks of `threads` threads with `registers` registers each, and `smem_bytes` of shared memory per block.

    Source: cuda_occupancy.h of the CUDA toolkit, cudaOccMaxBlocksPerSMRegsLimit.
    """
    of_a_warp = -(-32 * registers // sm.register_unit) * sm.register_unit
    warps = sm.registers // sm.partitions // of_a_warp * sm.partitions
    return min(sm.shared // (smem_bytes + sm.reserved), warps // (threads // 32), sm.threads // threads, sm.blocks)


# Blackwell: tensor memory, bytes of a stage ---------------------------------------------------------------------------

LANES = 128  # of tensor memory
SMEM_ROOM = 227 * 1024  # bytes that a block can have


def ring_stages(n: int, pair: bool, other: int) -> tuple[int, int]:
    """(bytes of a stage in one block, stages that fit) for 128 rows of A for each block, tiles of n columns, 64 of K.

    bf16. other: bytes of shared memory for other uses. A block of a pair has half of B's rows.
    """
    stage = (LANES + n // (1 + pair)) * 64 * 2
    return stage, (SMEM_ROOM - other) // stage
