"""Wrong answers to notebook 17: PTX of one's own."""

from functools import partial

from tests.pages.change import derive, swap
from tests.pages.changed import right_answers
from tests.pages.table import says

# 17.9 and 17.10 -------------------------------------------------------------------------------------------------

KERNELS = right_answers("17_compile_once")
PTX = '"lop3.b32 $0, $1, $2, $3, 0xE8;"'
INLINE = """\
    return cutlass.Int32(
        llvm.inline_asm(
            T.i32(),
            [v.ir_value(loc=loc, ip=ip) for v in (a, b, c)],
            "lop3.b32 $0, $1, $2, $3, 0xE8;",
            "=r,r,r,r",
            has_side_effects=False,
            loc=loc,
            ip=ip,
        )
    )"""
REDUX = "cutlass.Int32(nvvm.redux_sync(value, nvvm.ReductionKind.ADD, all_lanes, loc=loc, ip=ip))"
OF_LOW, OF_HIGH = (REDUX.replace("value", f"{part}.ir_value(loc=loc, ip=ip)") for part in ("low", "high"))

lop3 = partial(derive, KERNELS["17.9"], within="majority_of")
redux = partial(derive, KERNELS["17.10"], within="warp_total")
WRONG = {
    "17.9": [
        lop3("any_of_them", "The table of or.", swap("0xE8", "0xFE")),
        lop3("all_of_them", "The table of and.", swap("0xE8", "0x80")),
        lop3("parity", "The table of xor.", swap("0xE8", "0x96")),
        lop3("upside_down", "The table in the other order.", swap("0xE8", "0x17")),
        lop3("two_of_them", "Passes a twice.", swap("(a, b, c)]", "(a, b, a)]")),
        lop3("in_python", "No lop3.", swap(INLINE, "    return (a & b) | (a & c) | (b & c)")),
        says("cute.arch.lop3")(
            lop3("the_dsl_s", "The DSL's own function.", swap(INLINE, "    return cute.arch.lop3(a, b, c, 0xE8)"))
        ),
        lop3("two_operands", "A register too few.", swap("$2, $3,", "$2, $2,")),
        says("ptxas refuses the PTX: ")(lop3("no_number", "A table that is no number.", swap("0xE8", "E8"))),
        says("an operand too many")(lop3("constraints", "One is missing.", swap('"=r,r,r,r"', '"=r,r,r"'))),
        lop3("not_ptx", "Names no instruction of PTX.", swap("lop3.b32", "lop4.b32")),
        lop3(
            "two_in_the_text",
            "a ^ b picks between c and a.",
            swap(PTX, '"lop3.b32 $0, $1, $2, 0, 0x3C; lop3.b32 $0, $0, $3, $1, 0xCA;"'),
            words=("lop3",),
        ),
        lop3(
            "half_by_operators",
            "A lop3 of (a & b) | c, and operators around it.",
            swap("0xE8", "0xEA"),
            swap("for v in (a, b, c)]", "for v in (a, b, c & (a | b))]"),
            words=("lop3",),
        ),
        lop3("c_alone", "The table of c.", swap("0xE8", "0xAA")),
    ],
    "17.10": [
        redux(
            "in_halves",
            "The upper 16 bits apart from the lower.",
            swap(f"    return {REDUX}", f"    low, high = (v & 0xFFFF, v & -65536)\n    return {OF_LOW} + {OF_HIGH}"),
            words=("redux.sync",),
        ),
        redux("largest", "The largest.", swap("ReductionKind.ADD", "ReductionKind.MAX")),
        redux("bits", "Any bit.", swap("ReductionKind.ADD", "ReductionKind.OR")),
        redux("half_a_warp", "Half of the lanes.", swap("Int32(-1)", "Int32(0xFFFF)")),
        redux("own_value", "The lane's own.", swap(REDUX, "v")),
        redux("twice", "Twice the sum.", swap(REDUX, REDUX + " * 2")),
        redux(
            "by_shuffles",
            "A tree of shuffles.",
            swap(
                "    all_lanes = cutlass.Int32(-1).ir_value(loc=loc, ip=ip)\n    value = v.ir_value(loc=loc, ip=ip)\n    return "
                + REDUX,
                "    return cute.arch.warp_reduction_sum(v)",
            ),
        ),
        redux(
            "the_dsl_s",
            "The DSL's own function.",
            swap(
                "    all_lanes = cutlass.Int32(-1).ir_value(loc=loc, ip=ip)\n    value = v.ir_value(loc=loc, ip=ip)\n    return "
                + REDUX,
                "    return cute.arch.warp_redux_sync(v, 'add')",
            ),
        ),
        redux(
            "inlined",
            "By inline PTX, where the native op is asked for.",
            swap(
                "    return " + REDUX,
                '    return cutlass.Int32(llvm.inline_asm(T.i32(), [value, all_lanes], "redux.sync.add.s32 $0, $1, $2;", "=r,r,r", has_side_effects=True, loc=loc, ip=ip))',
            ),
            words=("redux.sync as inline PTX",),
        ),
        redux("without_the_last", "A mask without lane 31.", swap("Int32(-1)", "Int32(0x7FFFFFFF)")),
        redux("smallest", "The smallest.", swap("ReductionKind.ADD", "ReductionKind.MIN")),
        redux("without_carries", "Adds bit by bit.", swap("ReductionKind.ADD", "ReductionKind.XOR")),
        redux(
            "in_a_branch",
            "Lane 0 alone comes by.",
            swap(
                "    total = warp_total(x[row, lane])\n    if lane == 0:\n        totals[row] = total",
                "    if lane == 0:\n        totals[row] = warp_total(x[row, lane])",
            ),
            within="row_totals_kernel",
        ),
        redux(
            "first_row",
            "The first row's total for all.",
            swap("x[row, lane]", "x[0, lane]"),
            within="row_totals_kernel",
        ),
    ],
}
