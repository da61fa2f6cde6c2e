"""Wrong answers to notebook 12: how many blocks an SM takes."""

from functools import partial

from tests.pages.table import says
from tutorlib.exercises.n12_three_stages import exercises as n12_three_stages
from tutorlib.models.occupancy import blocks_per_sm as fit


def warp_registers(sm, registers):
    return -(-32 * registers // sm.register_unit) * sm.register_unit


def by_partition(sm, of_a_warp, threads):
    """Blocks, by the registers of each partition."""
    return sm.registers // sm.partitions // of_a_warp * sm.partitions // (threads // 32)


@says("Every block loses")
def forgets_what_is_reserved(sm, smem_bytes, registers, threads):
    """All of shared memory for the blocks."""
    return min(sm.shared // max(smem_bytes, 1), fit_but_for_smem(sm, registers, threads))


@says("in one partition of the SM")
def one_register_file(sm, smem_bytes, registers, threads):
    """Forgets that a warp's registers lie in one partition."""
    by_registers = sm.registers // (threads // 32 * warp_registers(sm, registers))
    return min(sm.shared // (smem_bytes + sm.reserved), by_registers, sm.threads // threads, sm.blocks)


def fit_but_for_smem(sm, registers, threads):
    by_registers = by_partition(sm, warp_registers(sm, registers), threads)
    return min(sm.shared // sm.reserved, by_registers, sm.threads // threads, sm.blocks)


@says("A warp's registers are allocated in units")
def registers_one_by_one(sm, smem_bytes, registers, threads):
    """Registers are allocated one by one."""
    by_smem = sm.shared // (smem_bytes + sm.reserved)
    return min(by_smem, sm.registers // (registers * threads), sm.threads // threads, sm.blocks)


@says("Registers limit the number of blocks, too.")
def shared_memory_alone(sm, smem_bytes, registers, threads):
    """Forgets the registers."""
    return min(sm.shared // (smem_bytes + sm.reserved), sm.threads // threads, sm.blocks)


@says("Shared memory limits the number of blocks, too.")
def registers_alone(sm, smem_bytes, registers, threads):
    """Forgets shared memory."""
    return fit_but_for_smem(sm, registers, threads)


@says("An SM has no more than")
def as_many_as_you_like(sm, smem_bytes, registers, threads):
    """Forgets the limits on threads and blocks."""
    by_smem = sm.shared // (smem_bytes + sm.reserved)
    return min(by_smem, by_partition(sm, warp_registers(sm, registers), threads))


@says("no more than `sm.blocks` blocks")
def no_limit_on_blocks(sm, smem_bytes, registers, threads):
    """Forgets sm.blocks."""
    return min(as_many_as_you_like(sm, smem_bytes, registers, threads), sm.threads // threads)


@says("no more than `sm.threads` threads, ")
def no_limit_on_threads(sm, smem_bytes, registers, threads):
    """Forgets sm.threads."""
    return min(as_many_as_you_like(sm, smem_bytes, registers, threads), sm.blocks)


@says("the smallest decides")
def the_largest(sm, smem_bytes, registers, threads):
    """max in place of min."""
    by_smem = sm.shared // (smem_bytes + sm.reserved)
    return max(by_smem, by_partition(sm, warp_registers(sm, registers), threads), sm.threads // threads, sm.blocks)


@says("32 * registers, to a multiple of `sm.register_unit`")
def not_rounded(sm, smem_bytes, registers, threads):
    """A warp's registers as they are."""
    by_registers = by_partition(sm, 32 * registers, threads)
    return min(sm.shared // (smem_bytes + sm.reserved), by_registers, sm.threads // threads, sm.blocks)


@says("may be in any of the partitions")
def a_block_in_equal_parts(sm, smem_bytes, registers, threads):
    """Every partition takes an equal part of each block."""
    warps = sm.registers // sm.partitions // warp_registers(sm, registers)
    by_registers = warps // -(-threads // 32 // sm.partitions)
    return min(sm.shared // (smem_bytes + sm.reserved), by_registers, sm.threads // threads, sm.blocks)


def rounded_down(sm, smem_bytes, registers, threads):
    """A warp's registers rounded down to units."""
    of_a_warp = max(1, 32 * registers // sm.register_unit) * sm.register_unit
    by_registers = by_partition(sm, of_a_warp, threads)
    return min(sm.shared // (smem_bytes + sm.reserved), by_registers, sm.threads // threads, sm.blocks)


@says("not once")
def reserved_once(sm, smem_bytes, registers, threads):
    """The system takes its part once, not from each block."""
    by_smem = (sm.shared - sm.reserved) // max(smem_bytes, 1)
    return min(by_smem, fit_but_for_smem(sm, registers, threads))


def fractions(sm, smem_bytes, registers, threads):
    """/ in place of //."""
    by_registers = sm.registers / (threads / 32 * warp_registers(sm, registers))
    return float(min(sm.shared / (smem_bytes + sm.reserved), by_registers, sm.threads / threads, sm.blocks))


@says("Every block loses")
def divides_by_nothing(sm, smem_bytes, registers, threads):
    """Divides by shared memory that nobody asks for."""
    return min(sm.shared // smem_bytes, fit_but_for_smem(sm, registers, threads))


def constants_of_an_h100(sm, smem_bytes, registers, threads):
    """1,024 bytes, 65,536 registers, units of 256: true of both GPUs that the page prints."""
    by_registers = 65536 // (threads // 32 * (-(-32 * registers // 256) * 256))
    return min(sm.shared // (smem_bytes + 1024), by_registers, sm.threads // threads, sm.blocks)


def reserves_1024(sm, smem_bytes, registers, threads):
    """sm.reserved as a number."""
    return min(sm.shared // (smem_bytes + 1024), fit_but_for_smem(sm, registers, threads))


@says("it calls occupancy.blocks_per_sm")
def handed_on(*args):
    """The course's, by a partial."""
    return partial(fit)(*args)


@says("it calls tutorlib.exercises.n12_three_stages.judge.limits.four_limits, which belongs to the checks")
def asks_the_checks(*args):
    """The checks' own four limits."""
    return min(n12_three_stages.four_limits(*args))


def warps_in_place_of_blocks(sm, smem_bytes, registers, threads):
    """How many warps there are."""
    return fit_for(sm, smem_bytes, registers, threads) * (threads // 32)


def fit_for(sm, smem_bytes, registers, threads):
    return min(as_many_as_you_like(sm, smem_bytes, registers, threads), sm.threads // threads, sm.blocks)


def of_an_h100(sm, smem_bytes, registers, threads):
    """An H100's shared memory, whatever the SM."""
    by_smem = 228 * 1024 // (smem_bytes + 1024)
    return min(by_smem, 65536 // (threads // 32 * warp_registers(sm, registers)), sm.threads // threads, sm.blocks)


def rounded_by_block(sm, smem_bytes, registers, threads):
    """A block's registers are rounded, not a warp's, and to 1,024."""
    of_a_block = -(-threads * registers // 1024) * 1024
    by_smem = sm.shared // (smem_bytes + sm.reserved)
    return min(by_smem, sm.registers // of_a_block, sm.threads // threads, sm.blocks)


@says("calls occupancy.blocks_per_sm, which does what you are asked to write")
def by_the_course(sm, smem_bytes, registers, threads):
    """Leans on the course's own."""
    return fit(sm, smem_bytes, registers, threads)


BLOCKS = [forgets_what_is_reserved, registers_one_by_one, shared_memory_alone, registers_alone, as_many_as_you_like]
BLOCKS += [no_limit_on_blocks, no_limit_on_threads, the_largest, rounded_down, reserved_once, fractions]
BLOCKS += [divides_by_nothing, warps_in_place_of_blocks, of_an_h100, rounded_by_block, by_the_course]
BLOCKS += [
    not_rounded,
    a_block_in_equal_parts,
    one_register_file,
    constants_of_an_h100,
    reserves_1024,
    handed_on,
    asks_the_checks,
]
