"""Unusual right answers to notebook 20."""

import cutlass
from cutlass import BFloat16, Float32, cute
from cutlass.cute.nvgpu import warpgroup

from tests.pages.change import swap, without
from tests.pages.n20_attention_hopper.wrong import (
    PAGE,
    WAIT,
    NamedPair,
    add,
    give,
    produce,
    reduce,
    soften,
    step,
    whole,
)
from tests.pages.table import answer

# 20.1 and 20.5 --------------------------------------------------------------------------------------------------


def bit_by_bit(row, column):
    """Bits of the coordinates, each in its place."""
    thread = (row >> 4) << 5 | (row & 7) << 2 | (column >> 1) & 3
    return thread, column >> 4, column & 1 | (row >> 3 & 1) << 1 | (column >> 3 & 1) << 2


def by_search(row, column):
    """Of all places the one that has the element."""
    for warp in range(4):
        for lane in range(32):
            for element in range(8):
                if (
                    16 * warp + lane // 4 + 8 * (element // 2 % 2),
                    2 * (lane % 4) + element % 2 + 8 * (element // 4),
                ) == (
                    row,
                    column % 16,
                ):
                    return 32 * warp + lane, column // 16, element


def from_the_accumulator(row, column):
    """The accumulator's number, divided by 8."""
    number = column % 2 + 2 * (row // 8 % 2) + 4 * (column // 8)
    return [32 * (row // 16) + 4 * (row % 8) + column % 8 // 2, *divmod(number, 8)]


def counts(m_block, keys, tile, causal):
    """Tries block by block."""
    first, last = m_block * tile[0], (m_block + 1) * tile[0] - 1
    starts = [start for start in range(0, keys, tile[1]) if not causal or start <= last]
    full = [start for start in starts if start + tile[1] <= keys and (not causal or start + tile[1] - 1 <= first)]
    return len(starts), len(full)


def seen_by(m_block, keys, tile, causal):
    """What the tile's last row sees, and what its first row sees."""
    most = min(keys, (m_block + 1) * tile[0]) if causal else keys
    least = min(keys, m_block * tile[0] + 1) if causal else keys
    return (most + tile[1] - 1) // tile[1], least // tile[1]


def as_a_list(m_block, keys, tile, causal):
    """The pair as a list."""
    return list(seen_by(m_block, keys, tile, causal))


# 20.2 views -----------------------------------------------------------------------------------------------------


def by_modes(acc):
    """From the accumulators' own modes."""
    neighbors, rows, columns = acc.shape[0]
    return cute.make_tensor(acc.iterator, cute.make_layout((rows, (neighbors, columns)), stride=(2, (1, 4))))


def blocks_by_modes(p):
    """The same for the operand."""
    return cute.make_tensor(
        p.iterator, cute.make_layout(((2, 2, 2), 1, p.shape[0][2] // 2), stride=((1, 2, 4), cute.size(p), 8))
    )


@cute.jit
def jitted_rows(acc):
    """As a function of the DSL."""
    return cute.make_tensor(acc.iterator, cute.make_layout((2, (2, cute.size(acc) // 4)), stride=(2, (1, 4))))


def selected_rows(acc):
    """The first mode's modes, in another order."""
    return cute.make_tensor(
        acc.iterator, cute.make_layout((2, (2, cute.size(acc.shape[0][2]))), stride=(acc.stride[0][1], (1, 4)))
    )


def composed_rows(acc):
    """A layout after the accumulators' own."""
    return cute.composition(acc, cute.make_layout((2, (2, cute.size(acc) // 4)), stride=(2, (1, 4))))


# 20.3 add_pv ----------------------------------------------------------------------------------------------------


@cute.jit
def one_gemm(pv, acc, p, v, stage):
    """CuTe's gemm walks over the K blocks."""
    pv.set(warpgroup.Field.ACCUMULATE, True)
    warpgroup.fence()
    cute.gemm(pv, acc, p, v[None, None, None, stage], acc)
    warpgroup.commit_group()


@cute.jit
def from_the_last(pv, acc, p, v, stage):
    """The K blocks backwards."""
    pv.set(warpgroup.Field.ACCUMULATE, True)
    warpgroup.fence()
    for number in cutlass.range_constexpr(cute.size(p, mode=[2])):
        k_block = cute.size(p, mode=[2]) - 1 - number
        cute.gemm(pv, acc, p[None, None, k_block], v[None, None, k_block, stage], acc)
    warpgroup.commit_group()


# 20.7 step ------------------------------------------------------------------------------------------------------


@cute.jit
def softmax_of(me):
    p, factors = cute.make_rmem_tensor(me.tSrS.shape, Float32), cute.make_rmem_tensor(2, Float32)
    me.softmax_step(p, factors)
    return p, factors


@cute.jit
def with_a_helper(me, k_state, v_state, n_block, masked: cutlass.Constexpr):
    """The softmax in a function of its own."""
    me.take_turn()
    me.issue_s(k_state)
    me.issue_o(v_state)
    me.pass_turn()
    warpgroup.wait_group(1)
    me.free_k(k_state)
    if cutlass.const_expr(masked):
        me.mask(n_block)
    p, factors = softmax_of(me)
    warpgroup.wait_group(0)
    me.free_v(v_state)
    me.rescale(factors)
    me.tOrP.store(p.load().to(BFloat16))


# 20.8 turns -----------------------------------------------------------------------------------------------------


def take_other_numbers(me):
    """Barriers 5 and 4."""
    cute.arch.barrier(barrier_id=5 - me.group, number_of_threads=256)


def give_other_numbers(me):
    """Barriers 4 and 5."""
    cute.arch.barrier_arrive(barrier_id=4 + me.group, number_of_threads=256)


@cute.jit
def jitted_take(me):
    """As a function of the DSL."""
    cute.arch.barrier(barrier_id=1 + me.group, number_of_threads=256)


@cute.jit
def jitted_give(me):
    """As a function of the DSL."""
    cute.arch.barrier_arrive(barrier_id=2 - me.group, number_of_threads=256)


other_turns = {"take_turn": take_other_numbers, "pass_turn": give_other_numbers}
rounds_early = step(
    "rounds_early",
    "P's new values have registers of their own.",
    without("me.tOrP.store"),
    swap(WAIT, "    me.tOrP.store(p.load().to(BFloat16))\n" + WAIT),
)

RIGHT = {
    "20.1": [bit_by_bit, by_search, from_the_accumulator],
    "20.2": [
        answer("by_modes", "From the modes.", NamedPair(by_modes, blocks_by_modes)),
        answer("jitted", "One is compiled.", NamedPair(jitted_rows, blocks_by_modes)),
        answer("composed", "A composition.", NamedPair(composed_rows, PAGE["20.2"][1])),
        answer("selected", "Strides from the layout.", NamedPair(selected_rows, PAGE["20.2"][1])),
    ],
    "20.3": [
        one_gemm,
        from_the_last,
        add(
            "set_first",
            "The fence after the switch.",
            swap(
                "    warpgroup.fence()\n    pv.set(warpgroup.Field.ACCUMULATE, True)\n",
                "    pv.set(warpgroup.Field.ACCUMULATE, True)\n    warpgroup.fence()\n",
            ),
        ),
    ],
    "20.4": [
        reduce("far_first", "The far pair first.", swap("offset=offset", "offset=3 - offset")),
        soften(
            "another_order",
            "Stores P before the sum.",
            without("factors[row] = factor"),
            swap("        p = cute", "        factors[row] = factor\n        p = cute"),
        ),
        soften(
            "guarded_by_a_number",
            "A maximum of -inf becomes a low number.",
            swap(
                "Float32(0) if top == -Float32.inf else top * softmax.scale",
                "cute.arch.fmax(top, Float32(-1e30)) * softmax.scale",
            ),
        ),
        reduce("by_other_bits", "Both bits, then one.", swap("offset=offset", "offset=5 - 2 * offset")),
        soften(
            "difference_first",
            "Scales the difference.",
            swap("exp2(s * softmax.scale - base,", "exp2((s - base / softmax.scale) * softmax.scale,"),
        ),
    ],
    "20.5": [counts, seen_by, as_a_list],
    "20.6": [
        produce(
            "k_before_q",
            "K of the last block first.",
            without("loads.load_q()"),
            swap("    k_state.advance()\n    for", "    loads.load_q()\n    k_state.advance()\n    for"),
        ),
        produce(
            "counts_down",
            "The block's number is the loop's.",
            swap("cutlass.range(n_blocks - 1, unroll", "cutlass.range(n_blocks - 1, 0, -1, unroll"),
            swap("n_blocks - 2 - number", "number - 1"),
            swap("n_blocks - 1 - number", "number"),
        ),
        produce(
            "one_loop",
            "A branch around K.",
            swap("cutlass.range(n_blocks - 1,", "cutlass.range(n_blocks,"),
            swap(
                "        loads.load_k(n_blocks - 2 - number, k_state)\n",
                "        if number < n_blocks - 1:\n            loads.load_k(n_blocks - 2 - number, k_state)\n            k_state.advance()\n",
            ),
            swap("v_state)\n        k_state.advance()\n", "v_state)\n"),
            without("    loads.load_v(Int32(0), v_state)"),
        ),
        produce(
            "advances_at_once",
            "Each state advances right after its load.",
            swap(
                "k_state)\n        loads.load_v(n_blocks - 1 - number, v_state)\n        k_state.advance()\n",
                "k_state)\n        k_state.advance()\n        loads.load_v(n_blocks - 1 - number, v_state)\n",
            ),
        ),
    ],
    "20.7": [
        rounds_early,
        with_a_helper,
        step(
            "into_the_operand",
            "Rounds at once; the compiler keeps the old P.",
            swap(
                "    p, factors = cute.make_rmem_tensor(me.tSrS.shape, Float32), cute.make_rmem_tensor(2, Float32)\n",
                "    p, factors = me.tOrP, cute.make_rmem_tensor(2, Float32)\n",
            ),
            without("me.tOrP.store"),
        ),
        step(
            "like_s",
            "P's registers as S has them.",
            swap("cute.make_rmem_tensor(me.tSrS.shape, Float32)", "cute.make_rmem_tensor_like(me.tSrS, Float32)"),
        ),
        step(
            "frees_v_last",
            "V is freed at the end.",
            without("me.free_v"),
            swap("    me.rescale(factors)\n", "    me.rescale(factors)\n    me.free_v(v_state)\n"),
        ),
    ],
    "20.8": [
        answer("other_numbers", "Other barriers.", NamedPair(take_other_numbers, give_other_numbers)),
        answer("both_jitted", "Functions of the DSL.", NamedPair(jitted_take, jitted_give)),
        give(
            "in_two_steps",
            "The other's number first.",
            swap("TURN_BARRIER + 1 - me.group", "TURN_BARRIER + (1 - me.group)"),
        ),
    ],
    "20.9": [
        whole("all_mine", "The page's own."),
        whole("with_other_barriers", "Other barriers.", **other_turns),
        whole("with_early_rounding", "P is rounded early.", step=rounds_early),
    ],
}
