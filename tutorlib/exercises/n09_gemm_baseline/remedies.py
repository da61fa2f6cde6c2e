"""Remedies of notebook 09."""

from tutorlib.checking.exercise import Remedy
from tutorlib.checking.rehearsing.unsafe import LoopFlaw
from tutorlib.dsl.refusals import RefusalKind
from tutorlib.exercises.n09_gemm_baseline.judge.made_parts import MadeFlaw, SmemFlaw
from tutorlib.exercises.n09_gemm_baseline.judge.methods import MoveFlaw
from tutorlib.failure import Difference, Fail, FailureKind, Hazard


class ColumnFlaw(FailureKind):
    """Reasons why a warp does not store whole sectors."""

    NO_LAYOUT = "no layout"
    SIZE = "number of columns"
    NOT_ALL = "columns not all hit"
    NO_VECTOR = "no neighbors"
    HALF_SECTORS = "half sectors"


BASELINE_REMEDIES: dict[str, tuple[Remedy, ...]] = {
    "09.1": (
        Remedy(
            Fail.CASE(name="whole tiles"),
            "tile_m cuts M and tile_n cuts N; the product of the two counts is the number of blocks. What does one "
            "block load for all of K?",
        ),
    ),
    "09.2": (
        Remedy(
            SmemFlaw.LDMATRIX,
            "It reads one vector from each of 8 rows. The swizzle should XOR bits of the row's number into the "
            "vector's, so that the eight are in different banks: which bits of the offset are these two?",
        ),
        Remedy(
            SmemFlaw.TORN,
            "A vector is 8 neighbors along K: K has stride 1, and the swizzle leaves the three lowest "
            "bits of the offset alone.",
        ),
        Remedy(
            SmemFlaw.STAGES,
            "Are the stages the last mode, and the slowest? And does the swizzle stay within the atom's 8 rows?",
        ),
        Remedy(
            SmemFlaw.SIZES,
            "cute.tile_to_shape(atom, (rows, k, stages), (0, 1, 2)) has these sizes, if the atom's rows and columns"
            " divide them.",
        ),
        Remedy(
            SmemFlaw.SAME_PLACE,
            "Each element of each stage needs a place of its own: a stage is rows · K elements further on.",
        ),
        Remedy(
            SmemFlaw.GAP,
            "Padding needs memory that the kernel has not allocated: exchange vectors within a row instead.",
        ),
    ),
    "09.3": (
        Remedy(
            LoopFlaw.UNSEEN,
            "A thread waits for its own copies only; a barrier after the wait makes sure of all threads' copies.",
        ),
        Remedy(
            LoopFlaw.OVERWRITTEN(what="being read"),
            "The buffer is free when every warp has fetched from it: that takes a barrier at the end of the step.",
        ),
        Remedy(
            LoopFlaw.UNWAITED, "wait_group(n) leaves n groups in flight, and there is only one, the tile's own: n = 0."
        ),
        Remedy(
            LoopFlaw.UNCOMMITTED,
            "cute.arch.cp_async_commit_group() makes a group of the load's copies; a wait covers groups only.",
        ),
        Remedy(LoopFlaw.EMPTY, "All threads load, A and B, in every step: each thread copies a part of the tile."),
        Remedy(
            LoopFlaw.MISSING,
            "Which tiles, and which of their K blocks, do your two loops go through? All of steps.k_tiles, all of "
            "steps.k_blocks.",
        ),
        Remedy(
            LoopFlaw.TWICE,
            "Each tile is loaded once, each K block fetched and multiplied once: is the number that steps.load gets"
            " the loop's?",
        ),
        Remedy(
            LoopFlaw.NOT_FETCHED,
            "fetch(k_block, 0) fills the registers that multiply(k_block) takes: the fetch comes first.",
        ),
        Remedy(LoopFlaw.MIXED, "A and B of one step belong to one K tile: load both with the same number."),
        Remedy(
            LoopFlaw.BARRIERS,
            "A barrier after the wait says that the tile has arrived, one at the step's end that it has been read.",
        ),
    ),
    "09.4": (
        Remedy(
            MadeFlaw.NO_OBJECT,
            "An atom, a layout of the threads and one of a thread's values: cute.make_tiled_copy_tv takes the three.",
        ),
        Remedy(MadeFlaw.NOT_ALONG_K, "The layout of values is (1, VECTOR): one row, eight columns."),
        Remedy(
            MadeFlaw.TOO_WIDE, "bK // VECTOR threads of 8 elements fill a row of the tile, whatever the configuration."
        ),
        Remedy(
            MadeFlaw.THREADS,
            "The layout of the threads has config.threads of them.",
        ),
        Remedy(MadeFlaw.SECTORS, "Consecutive threads copy neighbors along K: the threads of a row have stride 1."),
        Remedy(
            MadeFlaw.COPIED_TWICE,
            "Each thread copies a vector of its own: (threads // lanes, lanes) with strides (lanes, 1).",
        ),
        Remedy(
            MadeFlaw.WAVEFRONTS, "Eight threads write at a time: let bK // VECTOR of them fill a row, then the next."
        ),
    ),
    "09.5": (
        Remedy(
            MadeFlaw.TILE,
            "permutation_mnk is what all warps cover together: 16 rows for each warp down, 16 columns for each warp"
            " across, 16 along K.",
        ),
        Remedy(MadeFlaw.THREADS, "The warps are config.warps, (m, n): a layout (m, n, 1) of them."),
        Remedy(
            MadeFlaw.ATOMS,
            "The warps are along M and N, none along K, and permutation_mnk is made of plain numbers: the two atoms "
            "of a warp are then 8 · n columns apart.",
        ),
        Remedy(
            MadeFlaw.NO_OBJECT,
            "Return cute.make_tiled_mma(op, layout of the warps, permutation_mnk=…).",
        ),
    ),
    "09.6": (
        Remedy(
            RefusalKind.RETILE,
            "Registers hold the whole K tile: the partition of sA with all its K blocks, and one buffer picked.",
        ),
        Remedy(
            MadeFlaw.SIZES,
            "Make tCrX of A from sA's partition and that of B from sB's, each with one buffer picked: [None, None, "
            "None, 0].",
        ),
        Remedy(MadeFlaw.NO_OBJECT, "Return both, A's first."),
        Remedy(
            MadeFlaw.RETILE,
            "The registers are the mma's, tCrX. The copy's slice, get_slice(thread).retile(tCrX), is a view of the "
            "same registers in the order of ldmatrix.",
        ),
        Remedy(MadeFlaw.READ, "tXsX is partition_S(sA) of the copy's slice for this thread: S is the source."),
        Remedy(MadeFlaw.MEMORY, "Operand(tCrX, s2r, tXsX, tXrX): registers, the copy, shared memory, registers again."),
    ),
    "09.7": (
        Remedy(ColumnFlaw.NO_LAYOUT, "Shape and strides together: cute.make_layout(shape, stride=strides)."),
        Remedy(
            ColumnFlaw.NOT_ALL,
            "Sort your modes by stride: each stride is the product of the extents before it, the first 1 and none 0.",
        ),
        Remedy(
            ColumnFlaw.NO_VECTOR,
            "A lane's 8 columns are two values of four atoms: strides 1 for the value, 2 for the atom.",
        ),
        Remedy(
            ColumnFlaw.HALF_SECTORS,
            "After a lane's 8 columns come the next lane's: stride 8 for the lane, 32 for the warp.",
        ),
        Remedy(ColumnFlaw.SIZE, "All digits multiplied are tile_n: 2 · 4 · warps · 4, and the rest."),
    ),
    "09.8": (
        Remedy(
            Fail.LACKS(instruction="st.global.v4"),
            "One comparison for 8 neighbors, and one store: cute.autovec_copy of the eight rounded registers to their "
            "eight places in C.",
        ),
        Remedy(
            Hazard.OUTSIDE,
            "Each eight has coordinates of its own, acc.coordinates[(0, row), m, (0, n)]; compare row and column with "
            "acc.shape by cute.elem_less, and store where both are smaller.",
        ),
        Remedy(RefusalKind.WIDTHS, "C is bf16 and the accumulators are fp32: store the rounded registers."),
    ),
    "09.9": (
        Remedy(Fail.NOT_JIT, "The host function is decorated with @cute.jit, the kernel with @cute.kernel."),
        Remedy(
            Fail.TOO_MANY(instruction="", share="all"),
            "gA has the modes (rows, K, K tiles): cute.size(gA, mode=[2]) is the number of K tiles, and cute.size(gA) "
            "is that of all elements.",
        ),
        Remedy(Fail.LAUNCHES_NOTHING, "The host function ends with kernel(…).launch(grid=…, block=…)."),
        Remedy(Fail.WASTE(space="shared"), "Both tiles in shared memory need the layout of 09.2, with its swizzle."),
        Remedy(
            Fail.LACKS(instruction="st.global.v4"),
            "The write-back of 09.8 needs C's columns in the order of 09.7: permute them in gC, in cC and in gB.",
        ),
        Remedy(
            Difference.UNWRITTEN(rule="rows ≥ 128"),
            "Launch one block for each tile of C: the product of config.grid(*c.shape).",
        ),
        Remedy(
            Difference.UNWRITTEN(rule="row 128"),
            "The blocks are numbered in one dimension: the grid is (tiles down · tiles across, 1, 1).",
        ),
        Remedy(
            Fail.TOO_MANY(instruction="bar.sync"),
            "Two barriers for each K tile: one after the wait, one after the last K block is fetched.",
        ),
        Remedy(Hazard.UNWAITED(does="copies to"), "A's copies go into sA and B's into sB."),
        Remedy(
            Difference.UNWRITTEN(rule="columns ≥ 32"),
            "Launch all of config.threads.",
        ),
        Remedy(Hazard.UNSET, "Set the accumulators before the loop: tCrC.fill(0.0)."),
        Remedy(Hazard.OUTSIDE(tensor="b"), "Compare A's coordinates with A's shape, B's with B's."),
        Remedy(Hazard.UNWRITTEN, "Each thread has its own slice of the copy: g2s.get_slice(thread)."),
        Remedy(
            Difference.UNWRITTEN(at="c[0, 8]"),
            "Each thread has its own slice of the MMA, too: tiled_mma.get_slice(thread).",
        ),
        Remedy(
            Difference.WRONG(rule="columns ≥ 2"),
            "C's columns are permuted, and B's rows must be permuted alike.",
        ),
        Remedy(
            Difference.WRONG(got="1", want="0"),
            "B's copies and fragments are made from gB and sB.",
        ),
    ),
    "09.10": (
        Remedy(
            Hazard.OUTSIDE(tensor="a"),
            "Each vector of each K tile has a place of its own, path.places[0, row, vector, k_tile]; cute.elem_less "
            "compares its row and its column with path.limit.",
        ),
        Remedy(
            Hazard.RACE, "The K tile goes into the buffer that load is given: path.target[None, None, None, buffer]."
        ),
        Remedy(
            Hazard.UNWRITTEN,
            "Where a vector is outside, cp.async must write zeros: cute.copy(…, pred=inside) for all of them, and no "
            "`if` around the copy.",
        ),
        Remedy(
            Fail.TOO_MANY(instruction="st.shared"),
            "A cp.async whose predicate is false has written the zeros already.",
        ),
        Remedy(
            Fail.DOES_NOT_COMPILE,
            "cute.copy takes the source first, then the target. Where path.places is None there is nothing to compare: "
            "a plain cute.copy, and return.",
        ),
        Remedy(Fail.LACKS(instruction="cp.async"), "cute.copy(path.tiled_copy, source, target, …) issues the copies."),
    ),
    "09.11": (
        Remedy(MoveFlaw.MISSING, "for r in (steps.rA, steps.rB): one cute.copy(r.s2r, …) for each."),
        Remedy(
            MoveFlaw.VIEW, "tXrX is a view of the same registers as tCrX, in the order in which ldmatrix fills them."
        ),
        Remedy(
            MoveFlaw.OTHER,
            "The source is a K block of a buffer, [None, None, k_block, buffer], the target the same K block of the "
            "registers, [None, None, k_block].",
        ),
        Remedy(MoveFlaw.OPERANDS, "cute.copy(tiled_copy, source, target), with all three of the same operand."),
        Remedy(Fail.LACKS(instruction="ldmatrix"), "r.s2r is made of ldmatrix: cute.copy takes it first."),
    ),
    "09.12": (
        Remedy(MoveFlaw.ACCUMULATORS, "cute.gemm(tiled_mma, tCrC, a, b, tCrC): the second tCrC is what is added to."),
        Remedy(MoveFlaw.VIEW, "The mma takes its own view of the registers, tCrX."),
        Remedy(MoveFlaw.OPERANDS, "A comes from steps.rA.tCrX, B from steps.rB.tCrX."),
        Remedy(MoveFlaw.OTHER, "Slice the K block that multiply is given: [None, None, k_block]."),
        Remedy(MoveFlaw.MISSING, "cute.gemm(steps.tiled_mma, D, A, B, C), once."),
    ),
}
