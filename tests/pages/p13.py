"""Page 13: answers that are whole functions, and what rows of p13.txt are made of."""

import math
from functools import partial

from tests.pages.table import right, solved, wrong
from tutorlib.kernels.ampere import main_loops as course
from tutorlib.models.memory import blocks_per_sm as fit


def warp_registers(sm, registers):
    return -(-32 * registers // sm.register_unit) * sm.register_unit


def by_partition(sm, of_a_warp, threads):
    """Blocks, by the registers of each partition."""
    return sm.registers // sm.partitions // of_a_warp * sm.partitions // (threads // 32)


def fit_but_for_smem(sm, registers, threads):
    by_registers = by_partition(sm, warp_registers(sm, registers), threads)
    return min(sm.shared // sm.reserved, by_registers, sm.threads // threads, sm.blocks)


@wrong("13.2", "gives", lesson=True)
def registers_one_by_one(sm, smem_bytes, registers, threads):
    """Registers are allocated one by one."""
    by_smem = sm.shared // (smem_bytes + sm.reserved)
    return min(by_smem, sm.registers // (registers * threads), sm.threads // threads, sm.blocks)


@right("13.2")
def rounded_by_thread(sm, smem_bytes, registers, threads):
    """Registers of a thread rounded up to 8, which is the same; divmod, a list."""
    limits = [sm.blocks, divmod(sm.threads, threads)[0], sm.shared // (sm.reserved + smem_bytes)]
    of_a_thread = math.ceil(registers / (sm.register_unit // 32)) * (sm.register_unit // 32)
    warps = sm.partitions * (sm.registers // sm.partitions // (of_a_thread * 32))
    limits.append(warps // (threads // 32))
    return sorted(limits)[0]
