"""The four limits of the blocks on an SM, each by itself."""

from tutorlib.models.occupancy import SM


def four_limits(sm: SM, smem_bytes: int, registers: int, threads: int) -> tuple[int, int, int, int]:
    """Blocks by shared memory, registers, threads, and blocks."""
    warps = sm.registers // sm.partitions // (-(-32 * registers // sm.register_unit) * sm.register_unit) * sm.partitions
    by_registers = warps // (threads // 32)
    return sm.shared // (smem_bytes + sm.reserved), by_registers, sm.threads // threads, sm.blocks
