"""How many blocks of a kernel one SM holds at a time."""

from dataclasses import dataclass


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
