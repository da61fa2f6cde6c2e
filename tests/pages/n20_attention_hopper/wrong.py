"""Wrong answers to notebook 20: the page's own answers with a change, and values that are off."""

from cutlass import cute

from tests.pages.change import copy_of, derive, swap, without
from tests.pages.changed import right_answers
from tests.pages.table import answer, says
from tutorlib.exercises.n20_attention_hopper import operands
from tutorlib.kernels.attention import parts as course
from tutorlib.kernels.attention.slots import COURSE, AttentionParts

PAGE = right_answers("20_attention_hopper")
RIGHT = copy_of(operands)
register, blocks = RIGHT.a_register, RIGHT.key_blocks
own = copy_of(course)
by_row, p_operand, quad_reduce, softmax_step = own.by_row, own.p_operand, own.quad_reduce, own.softmax_step
take_turn, pass_turn = own.take_turn, own.pass_turn


class NamedPair(tuple):
    """Two functions with a name, as the tables need it."""

    def __new__(cls, *pair):
        return super().__new__(cls, pair)


def of(right):
    """derive for changes of this answer: name, what is wrong, changes."""
    return lambda name, what, *changes, words=(): says(*words)(derive(right, name, what, *changes))


def first_of(one, other):
    """The same for the first of a pair."""
    return lambda name, what, *changes: answer(name, what, NamedPair(derive(one, name, what, *changes), other))


def second_of(one, other):
    return lambda name, what, *changes: answer(name, what, NamedPair(one, derive(other, name, what, *changes)))


rows, operand = first_of(by_row, p_operand), second_of(by_row, p_operand)
reduce, soften = first_of(quad_reduce, softmax_step), second_of(quad_reduce, softmax_step)
take, give = first_of(take_turn, pass_turn), second_of(take_turn, pass_turn)
add, produce, step = of(PAGE["20.3"]), of(PAGE["20.6"]), of(PAGE["20.7"])

RESCALE, SOFTEN, WAIT, STORE = (
    "    me.rescale(factors)\n",
    "    me.softmax_step(p, factors)\n",
    "    warpgroup.wait_group(0)\n",
    "    me.tOrP.store(p.load().to(BFloat16))\n",
)
FREE_K, FREE_V, ISSUE_S, ISSUE_O = (
    "    me.free_k(k_state)\n",
    "    me.free_v(v_state)\n",
    "    me.issue_s(k_state)\n",
    "    me.issue_o(v_state)\n",
)
MEET = "    cute.arch.sync_warp()\n"
TAKE, PASS = "    me.take_turn()\n", "    me.pass_turn()\n"
MASK = "    if cutlass.const_expr(masked):\n        me.mask(n_block)\n"


def mine(**slots):
    """The page's answers, or equal ones, in all slots but these."""
    own = {
        **{"by_row": by_row, "p_operand": p_operand, "add_pv": PAGE["20.3"], "quad_reduce": quad_reduce},
        **{"softmax_step": softmax_step, "produce": PAGE["20.6"], "step": PAGE["20.7"]},
        **{"take_turn": take_turn, "pass_turn": pass_turn},
    }
    return AttentionParts(**own | slots)


def whole(name, what, *words, **slots):
    made = mine(**slots)
    return answer(name, what, lambda: made, *words)


def copied(view):
    def copy(acc):
        registers = cute.make_fragment_like(view(acc))
        registers.store(view(acc).load())
        return registers

    return copy


waits_for_both = step("waits_for_both", "Waits for both.", swap("wait_group(1)", "wait_group(0)"))
v_before_k = produce(
    "v_before_k",
    "K is not one ahead: the consumers wait for it.",
    without("        loads.load_k(n_blocks - 2 - number, k_state)"),
    swap(
        "        k_state.advance()\n",
        "        loads.load_k(n_blocks - 2 - number, k_state)\n        k_state.advance()\n",
    ),
    words=("V of block 3 before K of block 2",),
)
keeps_its_turn_to_the_end = step(
    "keeps_its_turn_to_the_end",
    "The other one cannot issue during the softmax.",
    swap(PASS, ""),
    swap(RESCALE, PASS + RESCALE),
    words=("before it passes its turn",),
)
unmasked = step("unmasked", "Sees the future.", swap(MASK, ""))
a_group_each = add(
    "a_group_each",
    "A group for each K block.",
    swap("    warpgroup.commit_group()", "        warpgroup.commit_group()"),
)
through_exp = soften(
    "through_exp",
    "A natural exponential of multiples of log(2).",
    swap(
        "p = cute.math.exp2(s * softmax.scale - base,",
        "p = cute.math.exp((s * softmax.scale - base) * 0.6931472,",
    ),
)
sums_each_time = soften(
    "sums_each_time",
    "The sum of all four lanes in each block.",
    swap(
        "softmax.rsum[row] = p.reduce(cute.ReductionOp.ADD, softmax.rsum[row] * factor, 0)",
        "softmax.rsum[row] = softmax.rsum[row] * factor + softmax.quad_reduce(p.reduce(cute.ReductionOp.ADD, Float32(0), 0), lambda a, b: a + b) / 4",
    ),
)
sum_in_bf16 = soften(
    "sum_in_bf16",
    "Rounds the sum in each block.",
    swap(
        "        factors[row] = factor",
        "        softmax.rsum[row] = softmax.rsum[row].to(BFloat16).to(Float32)\n        factors[row] = factor",
    ),
)
soften_alone = answer("soften_alone", "One function.", NamedPair(softmax_step), "2 functions, not 1")

WRONG = {
    "20.1": [
        answer(
            "eight_columns",
            "K blocks of 8.",
            lambda row, column: (register(row, column)[0], column // 8, register(row, column)[2] % 4),
            "16 columns",
        ),
        answer(
            "next_columns_first",
            "The 8 columns to the right before the rows below.",
            lambda row, column: (*register(row, column)[:2], column % 2 + 4 * (row // 8 % 2) + 2 * (column % 16 // 8)),
            "order of the accumulators",
        ),
        answer(
            "the_accumulator",
            "Counted through all K blocks.",
            lambda row, column: (*register(row, column)[:2], register(row, column)[2] + 8 * (column // 16)),
            "0 to 7",
        ),
        answer("in_the_warp", "The lane for the thread.", lambda row, column: register(row % 16, column), "warp 1"),
        answer(
            "block_last",
            "Another order.",
            lambda row, column: register(row, column)[::-1],
            "(thread, K block, element)",
        ),
        answer(
            "warp_by_column",
            "Rows alone.",
            lambda row, column: (32 * (row // 16) + row % 8, *register(row, column)[1:]),
        ),
        answer(
            "no_second_half",
            "Rows below are other threads.",
            lambda row, column: (2 * row + column % 8 // 2, *register(row, column)[1:]),
        ),
        answer(
            "pairs",
            "A register of two bf16.",
            lambda row, column: (*register(row, column)[:2], register(row, column)[2] // 2),
        ),
        answer(
            "column_in_four",
            "Neighbors in different threads.",
            lambda row, column: (32 * (row // 16) + 4 * (row % 8) + column % 4, *register(row, column)[1:]),
        ),
        answer(
            "one_block",
            "All in K block 0.",
            lambda row, column: (register(row, column)[0], 0, register(row, column)[2]),
        ),
        answer(
            "rows_for_blocks",
            "The K block of the row.",
            lambda row, column: (register(row, column)[0], row // 16, register(row, column)[2]),
        ),
    ],
    "20.2": [
        rows("neighbors_are_rows", "Rows and neighbors exchanged.", swap("stride=(2, (1, 4))", "stride=(1, (2, 4))")),
        rows(
            "halves",
            "As if the first half were the first row.",
            swap("stride=(2, (1, 4))", "stride=(2 * (cute.size(acc) // 4), (1, 2))"),
        ),
        rows("in_fours", "Four columns in a row.", swap("stride=(2, (1, 4))", "stride=(4, (1, 8))")),
        rows("the_first_row_twice", "Both rows are the first.", swap("stride=(2, (1, 4))", "stride=(0, (1, 4))")),
        rows("half_of_them", "Half the columns.", swap("cute.size(acc) // 4", "cute.size(acc) // 8")),
        rows(
            "columns_first",
            "The modes exchanged.",
            swap(
                "(2, (2, cute.size(acc) // 4)), stride=(2, (1, 4))", "((2, cute.size(acc) // 4), 2), stride=((1, 4), 2)"
            ),
        ),
        operand(
            "rows_last",
            "The 8 columns to the right before the rows below.",
            swap("((1, 2, 4), 0, 8)", "((1, 4, 2), 0, 8)"),
        ),
        rows(
            "flat_columns",
            "One mode of columns.",
            swap("(2, (2, cute.size(acc) // 4)), stride=(2, (1, 4))", "(2, cute.size(acc) // 2), stride=(2, 1)"),
        ),
        rows("for_128_columns", "N/8 of another tile.", swap("cute.size(acc) // 4", "16")),
        operand("for_128_keys", "As many K blocks as 128 keys have.", swap("cute.size(p) // 8", "8")),
        answer(
            "copied_operand", "A copy.", NamedPair(by_row, copied(p_operand)), "p_operand(acc) has registers of its"
        ),
        answer("copied_rows", "A copy.", NamedPair(copied(by_row), p_operand), "by_row(acc) has registers of its own"),
        operand("blocks_of_four", "K blocks 4 elements apart.", swap("((1, 2, 4), 0, 8)", "((1, 2, 4), 0, 4)")),
        operand(
            "the_first_block", "The first K block again and again.", swap("((1, 2, 4), 0, 8)", "((1, 2, 4), 0, 0)")
        ),
        operand("half_the_keys", "Half of the K blocks.", swap("cute.size(p) // 8", "cute.size(p) // 16")),
        operand(
            "blocks_far_apart",
            "An element of a K block comes from every K block.",
            swap("((1, 2, 4), 0, 8)", "((cute.size(p) // 8, 2 * (cute.size(p) // 8), 4 * (cute.size(p) // 8)), 0, 1)"),
        ),
    ],
    "20.3": [
        add("no_fence", "P was just written.", without("warpgroup.fence()")),
        add(
            "fence_afterwards",
            "Too late for these wgmmas.",
            swap("    warpgroup.fence()\n", ""),
            swap("    warpgroup.commit_group()", "    warpgroup.fence()\n    warpgroup.commit_group()"),
        ),
        add("no_commit", "A wait does not know of them.", without("warpgroup.commit_group()")),
        add(
            "commits_first",
            "The group is closed before the wgmmas.",
            without("warpgroup.commit_group()"),
            swap("    warpgroup.fence()\n", "    warpgroup.fence()\n    warpgroup.commit_group()\n"),
        ),
        add("discards", "Forgets the blocks before.", swap("ACCUMULATE, True", "ACCUMULATE, False")),
        add(
            "discards_first",
            "Only this block of keys is left.",
            swap("    for k_block", "    pv.set(warpgroup.Field.ACCUMULATE, False)\n    for k_block"),
            swap("stage], acc)", "stage], acc)\n        pv.set(warpgroup.Field.ACCUMULATE, True)"),
        ),
        add(
            "waits",
            "Nothing is hidden.",
            swap("    warpgroup.commit_group()", "    warpgroup.commit_group()\n    warpgroup.wait_group(0)"),
        ),
        a_group_each,
        add(
            "a_fence_each",
            "A fence for each K block.",
            swap("        cute.gemm", "        warpgroup.fence()\n        cute.gemm"),
        ),
        add(
            "eight_blocks",
            "As many K blocks as 128 keys have.",
            swap("cute.size(p, mode=[2])", "8"),
            words=("of shared memory",),
        ),
        add("four_blocks", "As many as 13.10's multiply has.", swap("cute.size(p, mode=[2])", "4")),
        add("one_block", "The first K block alone.", swap("cute.size(p, mode=[2])", "1")),
        add(
            "without_the_last", "One K block is missing.", swap("cute.size(p, mode=[2])", "cute.size(p, mode=[2]) - 1")
        ),
        add("first_stage", "Always the first stage of V.", swap("k_block, stage]", "k_block, 0]")),
        add(
            "same_v",
            "The first K block of V for all.",
            swap("v[None, None, k_block, stage]", "v[None, None, 0, stage]"),
        ),
        add(
            "fences_a_proxy",
            "P is in registers, and no thread has written to V.",
            swap("    warpgroup.fence", '    cute.arch.fence_proxy("async.shared", space="cta")\n    warpgroup.fence'),
            words=("fence.proxy",),
        ),
        says("calls the course's")(course.add_pv),
    ],
    "20.4": [
        reduce("pairs_only", "Two of four lanes.", swap("range_constexpr(1, 3)", "range_constexpr(1, 2)")),
        reduce("wrong_lanes", "Lanes of other rows.", swap("offset=offset", "offset=4 * offset")),
        reduce("no_reduction", "Each thread for itself.", without("value = op(", "for offset")),
        reduce(
            "the_whole_warp",
            "All rows of the warp.",
            swap("range_constexpr(1, 3)", "range_constexpr(5)"),
            swap("offset=offset", "offset=1 << offset"),
        ),
        soften(
            "no_rescaling", "The sum keeps the old maximum.", swap("softmax.rsum[row] * factor", "softmax.rsum[row]")
        ),
        soften("a_new_sum", "The sum of this block alone.", swap("softmax.rsum[row] * factor", "Float32(0)")),
        soften("factor_of_one", "O is not rescaled.", swap("factors[row] = factor", "factors[row] = Float32(1)")),
        soften(
            "upside_down",
            "2^(m' - m).",
            swap(
                "factor = cute.math.exp2(before * softmax.scale - base,",
                "factor = cute.math.exp2(base - before * softmax.scale,",
            ),
        ),
        soften("keeps_the_old_maximum", "rmax is not updated.", without("softmax.rmax[row] = top")),
        soften(
            "forgets_the_maximum",
            "A block's own maximum, which may be far below the one before: the factor overflows.",
            swap("s.reduce(cute.ReductionOp.MAX, before, 0)", "s.reduce(cute.ReductionOp.MAX, -Float32.inf, 0)"),
        ),
        soften(
            "unguarded",
            "-inf - (-inf) in a row that has seen no key.",
            swap("Float32(0) if top == -Float32.inf else top * softmax.scale", "top * softmax.scale"),
        ),
        soften("unscaled", "Without the scale.", swap("exp2(s * softmax.scale - base", "exp2(s - top")),
        through_exp,
        soften("base_e", "exp for exp2.", swap("p = cute.math.exp2", "p = cute.math.exp")),
        soften(
            "own_maximum",
            "Of the thread's part of the row alone.",
            swap(
                "softmax.quad_reduce(s.reduce(cute.ReductionOp.MAX, before, 0), cute.arch.fmax)",
                "s.reduce(cute.ReductionOp.MAX, before, 0)",
            ),
        ),
        sums_each_time,
        sum_in_bf16,
        soften(
            "rounds_p_twice",
            "The sum of rounded weights.",
            swap("        softmax.rsum", "        p = p.to(BFloat16).to(Float32)\n        softmax.rsum"),
        ),
        soften_alone,
    ],
    "20.5": [
        answer(
            "all_blocks",
            "Computes what no row sees.",
            lambda m, keys, tile, causal: (-(-keys // tile[1]), blocks(m, keys, tile, causal)[1]),
            "No row of the tile sees",
        ),
        answer(
            "cut_off_unmasked",
            "The cut-off block without a mask.",
            lambda m, keys, tile, causal: (
                blocks(m, keys, tile, causal)[0],
                min(blocks(m, keys, tile, causal)[0], blocks(m, 10**6, tile, causal)[1]),
            ),
            "zeros",
        ),
        answer(
            "by_the_last_row",
            "What the last row sees.",
            lambda m, keys, tile, causal: (
                blocks(m, keys, tile, causal)[0],
                min(keys // tile[1], (m + 1) * tile[0] // tile[1]) if causal else keys // tile[1],
            ),
            "fewest",
        ),
        answer(
            "before_itself",
            "A query does not see its own key.",
            lambda m, keys, tile, causal: (
                blocks(m, keys, tile, causal)[0],
                min(keys // tile[1], m * tile[0] // tile[1]) if causal else keys // tile[1],
            ),
            "itself included",
        ),
        answer(
            "masked_ones",
            "How many need it.",
            lambda *args: (blocks(*args)[0], blocks(*args)[0] - blocks(*args)[1]),
            "number of unmasked blocks",
        ),
        answer("unmasked_first", "The pair exchanged.", lambda *args: blocks(*args)[::-1], "(blocks, unmasked)"),
        answer("never_causal", "Ignores causal.", lambda m, keys, tile, causal: blocks(m, keys, tile, False)),
        answer("always_causal", "Ignores that it is not.", lambda m, keys, tile, causal: blocks(m, keys, tile, True)),
        answer(
            "rounds_down",
            "Without the cut-off block.",
            lambda m, keys, tile, causal: (
                min(blocks(m, keys, tile, causal)[0], keys // tile[1]),
                blocks(m, keys, tile, causal)[1],
            ),
        ),
        answer("masks_all", "Masks everywhere.", lambda *args: (blocks(*args)[0], 0)),
        answer("one_mask", "The last block alone.", lambda *args: (blocks(*args)[0], blocks(*args)[0] - 1)),
        answer(
            "tile_for_tile",
            "As if both sides of a tile were equal.",
            lambda m, keys, tile, causal: (
                (min(-(-keys // tile[1]), m + 1), min(keys // tile[1], m)) if causal else blocks(m, keys, tile, False)
            ),
        ),
    ],
    "20.6": [
        produce("no_q", "The consumers wait for Q.", without("loads.load_q()")),
        produce(
            "q_in_each_step",
            "Q again and again.",
            swap("        loads.load_k", "        loads.load_q()\n        loads.load_k"),
        ),
        produce("v_never", "The last V is missing.", without("loads.load_v(Int32(0), v_state)")),
        produce("no_advance", "The first stage again.", without("        k_state.advance()")),
        produce(
            "first_not_advanced",
            "K of the second block into the first one's stage.",
            swap(
                "    loads.load_k(n_blocks - 1, k_state)\n    k_state.advance()\n",
                "    loads.load_k(n_blocks - 1, k_state)\n",
            ),
        ),
        produce(
            "one_state",
            "V goes with K's state.",
            swap("loads.load_v(n_blocks - 1 - number, v_state)", "loads.load_v(n_blocks - 1 - number, k_state)"),
        ),
        produce(
            "forwards",
            "From the first block on.",
            swap("loads.load_k(n_blocks - 1, k_state)", "loads.load_k(Int32(0), k_state)"),
            swap("n_blocks - 2 - number", "number + 1"),
            swap("n_blocks - 1 - number", "number"),
            swap("load_v(Int32(0)", "load_v(n_blocks - 1"),
        ),
        produce("k_of_the_same_block", "K is not one ahead.", swap("n_blocks - 2 - number", "n_blocks - 1 - number")),
        produce(
            "v_of_the_next",
            "V of the block whose K was just loaded.",
            swap("load_v(n_blocks - 1 - number", "load_v(n_blocks - 2 - number"),
        ),
        produce(
            "the_consumers_phase",
            "Waits for a stage that no one has to free.",
            swap("UserType.Producer", "UserType.Consumer", times=2),
        ),
        produce("one_block", "As if there were one.", swap("cutlass.range(n_blocks - 1,", "cutlass.range(0,")),
        produce(
            "too_many", "A block more than there is.", swap("cutlass.range(n_blocks - 1,", "cutlass.range(n_blocks,")
        ),
        produce(
            "twice",
            "Each V twice.",
            swap(
                "        loads.load_v(n_blocks - 1 - number, v_state)\n",
                "        loads.load_v(n_blocks - 1 - number, v_state)\n        v_state.advance()\n        loads.load_v(n_blocks - 1 - number, v_state)\n",
            ),
        ),
        produce(
            "all_k_first",
            "K runs ahead of what is freed, and no V comes.",
            swap(
                "        loads.load_v(n_blocks - 1 - number, v_state)\n        k_state.advance()\n        v_state.advance()\n",
                "        k_state.advance()\n    for number in cutlass.range(n_blocks - 1, unroll=1):\n        loads.load_v(n_blocks - 1 - number, v_state)\n        v_state.advance()\n",
            ),
        ),
        v_before_k,
        produce(
            "two_stages", "For rings of two stages alone.", swap("loads.stages", "2", times=2), words=("loads.stages",)
        ),
        produce(
            "v_before_k_and_meets",
            "The same, with an instruction that plain Python does not know.",
            swap("    loads.load_q()\n", MEET + "    loads.load_q()\n"),
            without("        loads.load_k(n_blocks - 2 - number, k_state)"),
            swap(
                "        k_state.advance()\n",
                "        loads.load_k(n_blocks - 2 - number, k_state)\n        k_state.advance()\n",
            ),
            words=("V of block 3 before K of block 2",),
        ),
        produce(
            "meets_in_each_step",
            "The warp's lanes wait for each other.",
            swap("        v_state.advance()\n", "        v_state.advance()\n    " + MEET),
            words=("bar.warp.sync",),
        ),
        says("calls the course's")(course.produce_blocks),
    ],
    "20.7": [
        step("frees_k_twice", "Arrives for the next load, too.", swap(FREE_K, FREE_K + FREE_K)),
        step("frees_v_twice", "Arrives for the next load, too.", swap(FREE_V, FREE_V + FREE_V)),
        step("waits_again", "Waits once more.", swap(RESCALE, WAIT + RESCALE)),
        step("v_freed_early", "P V may still read it.", swap(FREE_V, ""), swap(FREE_K, FREE_K + FREE_V)),
        step(
            "k_freed_early",
            "S may still read it.",
            swap(FREE_K, ""),
            swap("    warpgroup.wait_group(1)\n", FREE_K + "    warpgroup.wait_group(1)\n"),
        ),
        step("no_rescaling", "O keeps the old maximum.", without("me.rescale(factors)")),
        step("rescaled_in_flight", "P V still adds to O.", swap(RESCALE, ""), swap(WAIT, RESCALE + WAIT)),
        step(
            "rescaled_before_p_v",
            "The block before is not rescaled.",
            swap(RESCALE, ""),
            swap(ISSUE_O, ""),
            swap(SOFTEN, SOFTEN + RESCALE + ISSUE_O),
        ),
        step("one_group_at_a_time", "Waits for both.", swap("wait_group(1)", "wait_group(0)")),
        step(
            "waits_before_the_softmax",
            "P V hides nothing.",
            swap(WAIT, ""),
            swap("    me.softmax_step", WAIT + "    me.softmax_step"),
        ),
        step("no_wait", "S is not complete.", without("wait_group(1)")),
        step("no_last_wait", "P V is not complete.", without("wait_group(0)")),
        step("p_v_first", "wait_group(1) waits for the wrong one.", swap(ISSUE_S + ISSUE_O, ISSUE_O + ISSUE_S)),
        step("no_p_v", "Only the last block is added.", swap(ISSUE_O, "")),
        step("no_mask", "Sees the future.", swap(MASK, "")),
        step("masks_everywhere", "Where no row needs it, too.", swap(MASK, "    me.mask(n_block)\n")),
        step("masks_too_late", "After the softmax.", swap(MASK, ""), swap(SOFTEN, SOFTEN + MASK)),
        step("keeps_k", "The producer waits.", without("me.free_k(k_state)")),
        step("keeps_v", "The producer waits.", without("me.free_v(v_state)")),
        step("k_for_v", "Frees K twice.", swap("me.free_v(v_state)", "me.free_k(v_state)")),
        step("keeps_its_turn", "The other one waits.", without("me.pass_turn()")),
        step("takes_no_turn", "Passes what it did not take.", without("me.take_turn()")),
        step(
            "frees_k_last",
            "The producer waits for a stage that S has read.",
            swap(FREE_K, ""),
            swap(FREE_V, FREE_K + FREE_V),
            words=("frees the stage of K after the softmax",),
        ),
        keeps_its_turn_to_the_end,
        step(
            "keeps_its_turn_like_s",
            "The same, with a register tensor made in another way.",
            swap(PASS, ""),
            swap(RESCALE, PASS + RESCALE),
            swap("cute.make_rmem_tensor(me.tSrS.shape, Float32)", "cute.make_fragment_like(me.tSrS)"),
            words=("before it passes its turn",),
        ),
        step(
            "a_barrier_more",
            "Each warpgroup waits for itself.",
            swap(
                SOFTEN,
                "    cute.arch.barrier(barrier_id=3 + me.group, number_of_threads=128)\n" + SOFTEN,
            ),
        ),
        step(
            "a_turn_for_s_alone",
            "P V is issued out of turn.",
            swap(PASS, ""),
            swap(ISSUE_O, PASS + ISSUE_O),
            words=("a turn covers both groups",),
        ),
        step(
            "two_turns", "A turn for each group.", swap(ISSUE_O, PASS + TAKE + ISSUE_O), words=("covers both groups",)
        ),
        step("frees_v_twice_and_meets", "The same.", swap(FREE_V, FREE_V + FREE_V), swap(TAKE, MEET + TAKE)),
        step(
            "keeps_its_turn_and_fences",
            "The same, with instructions that plain Python does not know.",
            swap(PASS, ""),
            swap(RESCALE, PASS + RESCALE),
            swap(TAKE, "    warpgroup.fence()\n" + TAKE),
            words=("before it passes its turn",),
        ),
        step(
            "frees_k_in_a_branch",
            "Late, in a branch that every warp takes.",
            swap(FREE_K, ""),
            swap(FREE_V, "    if cute.arch.lane_idx() >= 0:\n    " + FREE_K + FREE_V),
            words=("frees the stage of K after the softmax",),
        ),
        step("meets", "The warp's lanes wait for each other.", swap(SOFTEN, MEET + SOFTEN), words=("bar.warp.sync",)),
        step("old_p", "P is not rounded for the next step.", without("me.tOrP.store")),
        says("calls the course's")(course.step),
    ],
    "20.8": [
        give("waits_too", "Both wait: the turns go in lockstep.", swap("barrier_arrive(", "barrier(")),
        give("its_own", "Admits itself.", swap("TURN_BARRIER + 1 - me.group", "TURN_BARRIER + me.group")),
        give("half_the_threads", "Counts the arriving ones alone.", swap("2 * WARPGROUP", "WARPGROUP")),
        give("with_the_producer", "Counts the producer's threads.", swap("2 * WARPGROUP", "3 * WARPGROUP")),
        give(
            "never",
            "Waits forever.",
            swap(
                "cute.arch.barrier_arrive(barrier_id=TURN_BARRIER + 1 - me.group, number_of_threads=2 * WARPGROUP)",
                "pass",
            ),
        ),
        give("always_the_second", "Only one barrier.", swap("TURN_BARRIER + 1 - me.group", "TURN_BARRIER + 1")),
        take(
            "the_others",
            "Waits for the other one's turn.",
            swap("TURN_BARRIER + me.group", "TURN_BARRIER + 1 - me.group"),
        ),
        take("only_its_own", "128 threads are there at once.", swap("2 * WARPGROUP", "WARPGROUP")),
        take("arrives", "Does not wait.", swap("cute.arch.barrier(", "cute.arch.barrier_arrive(")),
        take(
            "never_waits",
            "Takes a turn that no one gave it.",
            swap("cute.arch.barrier(barrier_id=TURN_BARRIER + me.group, number_of_threads=2 * WARPGROUP)", "pass"),
        ),
        take("one_for_both", "Both wait at the first.", swap("TURN_BARRIER + me.group", "TURN_BARRIER")),
        answer(
            "beyond_the_last",
            "Barriers 17 and 16.",
            NamedPair(
                lambda me: cute.arch.barrier(barrier_id=16 + me.group, number_of_threads=256),
                lambda me: cute.arch.barrier_arrive(barrier_id=17 - me.group, number_of_threads=256),
            ),
            "0 to 15",
        ),
        take(
            "of_half_the_threads_after_a_fence",
            "128 threads, behind an instruction that plain Python does not know.",
            swap("    cute.arch.barrier", "    warpgroup.fence()\n    cute.arch.barrier"),
            swap("2 * WARPGROUP", "WARPGROUP"),
        ),
        give("meets_first", "The warp's lanes wait for each other.", swap("    cute.arch", MEET + "    cute.arch")),
        answer("nothing", "No turns at all.", NamedPair(lambda me: None, lambda me: None), "passes its turn"),
    ],
    "20.9": [
        whole(
            "the_courses_views",
            "Two of the course's.",
            "by_row has the course's",
            by_row=COURSE.by_row,
            p_operand=COURSE.p_operand,
        ),
        whole("the_courses_step", "One of the course's.", "step has the course's", step=COURSE.step),
        whole("exchanged_views", "Two slots exchanged.", by_row=p_operand, p_operand=by_row),
        whole(
            "no_turns",
            "Turns that do nothing.",
            "passes its turn",
            take_turn=lambda me: None,
            pass_turn=lambda me: None,
        ),
        whole(
            "exchanged_turns", "Arrives before it issues and waits after it.", take_turn=pass_turn, pass_turn=take_turn
        ),
        whole("no_overlap", "A step that waits for both.", step=waits_for_both),
        whole("masked_nowhere", "A step without its mask.", step=unmasked),
        whole(
            "turn_to_the_end",
            "A step that keeps its turn.",
            "before it passes its turn",
            step=keeps_its_turn_to_the_end,
        ),
        whole("v_first", "V before K.", "V of block 3 before K of block 2", produce=v_before_k),
        whole(
            "copied_operand_9", "A copy in place of a view.", "has registers of its own", p_operand=copied(p_operand)
        ),
        whole("in_e", "Its exponentials.", "mul.f32", softmax_step=through_exp[1]),
        whole("sums_in_bf16", "Its sum.", "cvt.rn.bf16", softmax_step=sum_in_bf16[1]),
        whole("sums_each_block", "Its shuffles.", "shfl", softmax_step=sums_each_time[1]),
        whole("a_group_for_each", "Its groups.", "wgmma.commit_group", add_pv=a_group_each),
        answer("a_slot_too_few", "Leaves out a slot.", lambda: AttentionParts(by_row), "raised TypeError"),
        whole("no_number", "A slot without a function.", "is not a function", produce=7),
        answer("a_tuple", "No AttentionParts.", lambda: (by_row, p_operand), "is not AttentionParts"),
        answer("nothing_returned", "Returns nothing.", lambda: None, "is not AttentionParts"),
        answer("the_courses_all", "COURSE itself.", lambda: COURSE, "COURSE"),
    ],
}
