"""Wrong parts of notebook 14's persistent kernel."""

from tests.pages.change import copy_of, derive, swap, without
from tests.pages.table import answer, says
from tutorlib.kernels.hopper import parts as course
from tutorlib.kernels.hopper.choose import choose
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.slots import Parts

own = copy_of(course)
WAIT_FIRST = "cute.arch.cp_async_bulk_wait_group(0, read=True)"
WAIT_LATER = "cute.arch.cp_async_bulk_wait_group(out.buffers - 1, read=True)"
FENCE = '        cute.arch.fence_proxy("async.shared", space="cta")\n'
COMMIT = "        cute.arch.cp_async_bulk_commit_group()"
COPY = "        out.copy(piece, buffer)\n"
RAISE = 'cute.arch.store(part.flag, Int32(1), sem="release", scope="gpu")'
CLEAR = '    with cute.arch.elect_one():\n        cute.arch.store(part.flag, Int32(0), sem="relaxed", scope="gpu")'
ADD = "    for number in cutlass.range_constexpr(part.slices):\n        part.add(number)\n"
PRODUCER_STATE = "    state = make_pipeline_state(PipelineUserType.Producer, loads.stages)\n"
CONSUMER_STATE = "    state = make_pipeline_state(PipelineUserType.Consumer, multiply.stages)\n"
ITEM = "        item = tiles.take(number)\n"


def of(right):
    """derive for changes of this part: name, what is wrong, changes."""
    return lambda name, what, *changes, words=(): says(*words)(derive(right, name, what, *changes))


roles, produce, consume, store = map(of, (own.take_roles, own.produce_tiles, own.consume_tiles, own.store_pieces))
load, free = of(own.load_shared), of(own.free_stage)


def give(name, what, *changes):
    return answer(name, what, NamedPair(derive(own.give_part, name, what, *changes), own.add_part))


def add(name, what, *changes):
    return answer(name, what, NamedPair(own.give_part, derive(own.add_part, name, what, *changes)))


class NamedPair(tuple):
    """(give, add) with a name, as the tables need it."""

    def __new__(cls, give, add):
        return super().__new__(cls, (give, add))


def plain_python(*args):
    """Not compiled."""


OWN = Parts(
    own.take_roles,
    own.produce_tiles,
    own.consume_tiles,
    own.store_pieces,
    own.load_shared,
    own.free_stage,
    own.give_part,
    own.add_part,
)


def whole(name, what, *words, config=None, pair=True, **slots):
    """Own parts with these in their places."""
    made = Parts(**{**vars(OWN), **slots})
    return answer(name, what, lambda *shape: (config or choose(*shape), made) if pair else made, *words)


WRONG = {
    "14.13": [
        roles("nothing_is_returned", "The consumers wait for registers forever.", without("setmaxregister_decrease"), words=("registers",)),
        roles("nothing_is_taken", "Right here, but with more accumulators it would spill.", without("setmaxregister_increase")),
        roles("nothing_moves", "Both roles keep what they started with.", without("setmaxregister_decrease"), without("setmaxregister_increase")),
        roles("the_wrong_way_round", "The consumers return registers, the producer takes them.", swap("decrease(registers[0])", "increase(registers[1])"), swap("        cute.arch.setmaxregister_increase(registers[1])\n        consume", "        cute.arch.setmaxregister_decrease(registers[0])\n        consume")),
        roles("numbers_exchanged", "Each role has the other's number.", swap("registers[0]", "registers[-1]"), swap("registers[1]", "registers[-2]")),
        roles("one_warp_returns", "Only the warp that loads returns registers.", swap("        cute.arch.setmaxregister_decrease(registers[0])\n        if me.warp == 0:\n", "        if me.warp == 0:\n            cute.arch.setmaxregister_decrease(registers[0])\n")),
        roles("all_warps_load", "Four warps produce.", swap("        if me.warp == 0:\n            produce()", "        produce()")),
        roles("the_first_warpgroup", "The producer is warpgroup 0, which has accumulators.", swap("me.group == consumers", "me.group == 0")),
        roles("roles_exchanged", "One warpgroup multiplies, the others load.", swap("            produce()", "            consume()"), swap("registers[1])\n        consume()", "registers[1])\n        produce()")),
        roles("takes_them_afterwards", "The wgmmas are over when the registers come.", swap("        cute.arch.setmaxregister_increase(registers[1])\n        consume()", "        consume()\n        cute.arch.setmaxregister_increase(registers[1])")),
        roles("returns_them_afterwards", "The consumers wait for registers, the producer for the consumers.", swap("        cute.arch.setmaxregister_decrease(registers[0])\n        if me.warp == 0:\n            produce()", "        if me.warp == 0:\n            produce()\n        cute.arch.setmaxregister_decrease(registers[0])")),
        roles("as_in_cutlass", "The numbers for two that multiply, whatever the block has.", swap("registers[0]", "40"), swap("registers[1]", "232")),
        roles("no_multiple_of_8", "setmaxnreg takes multiples of 8.", swap("registers[1]", "registers[1] - 4")),
        roles("takes_them_twice", "Once is enough.", swap("        cute.arch.setmaxregister_increase(registers[1])\n", "        cute.arch.setmaxregister_increase(registers[1])\n" * 2), words=("setmaxnreg instructions",)),
        roles("meets_first", "All threads of the block meet before they take their roles.", swap("    if me.group == consumers:", "    cute.arch.sync_threads()\n    if me.group == consumers:"), words=("bar.sync/barrier instructions",)),
        roles("too_few", "No thread can have 16.", swap("registers[0]", "16")),
        roles("nobody_loads", "The producer only returns registers.", swap("            produce()", "            pass")),
        says("not a @cute.jit function")(plain_python),
        says("calls take_roles")(course.take_roles),
    ],
    "14.7": [
        produce("a_state_for_each_tile", "Begins each tile at stage 0 with phase 1.", swap(ITEM, "    " + PRODUCER_STATE + ITEM)),
        produce("no_advance", "Always the first stage.", without("state.advance()")),
        produce("advances_once_a_tile", "All K tiles of a tile in one stage.", swap("            state.advance()\n", "        state.advance()\n")),
        produce("leaves_early", "The block may end while others of the cluster arrive at its mbarriers.", without("loads.finish")),
        produce("drains_each_tile", "Empties the ring before each next tile.", swap("    loads.finish(state)", "        loads.finish(state)"), words=("mbarrier.try_wait",)),
        produce("not_the_first", "Begins with the second tile.", swap("cutlass.range(tiles.items()", "cutlass.range(1, tiles.items()")),
        produce("not_the_last", "Leaves out the last tile.", swap("cutlass.range(tiles.items()", "cutlass.range(tiles.items() - 1")),
        produce("one_tile", "As if a block had one tile.", swap("cutlass.range(tiles.items()", "cutlass.range(1")),
        produce("the_same_tile", "Loads the first tile again and again.", swap("tiles.take(number)", "tiles.take(0)")),
        produce("from_the_first_k_tile", "A part of a tile does not begin at K tile 0.", swap("item.k_tile(step)", "step")),
        produce("one_k_tile_less", "The consumers wait for the last one.", swap("cutlass.range(item.k_tiles,", "cutlass.range(item.k_tiles - 1,")),
        produce("the_consumers_state", "Its first wait is for a phase that no one completes.", swap("PipelineUserType.Producer", "PipelineUserType.Consumer")),
        produce("always_empty", "The phase of the first round.", swap("state.phase)", "1)")),
        produce("exchanged", "Phase for stage.", swap("state.index, state.phase", "state.phase, state.index")),
        produce("fences_in_each_step", "A fence of the GPU that nothing needs.", swap("            state.advance()", "            cute.arch.fence_acq_rel_gpu()\n            state.advance()"), words=("fence instructions",)),
        produce("two_stages", "Goes round two stages.", swap("Producer, loads.stages", "Producer, 2")),
        produce("steps_of_all_tiles", "K tiles counted through all tiles.", swap("item.k_tile(step)", "item.k_tile(step + number * item.k_tiles)")),
        says("not a @cute.jit function")(plain_python),
        says("calls produce_tiles")(course.produce_tiles),
    ],
    "14.14": [
        consume("a_state_for_each_tile", "Begins each tile at stage 0 with phase 0.", swap("        multiply.step(state, True)\n", "    " + CONSUMER_STATE + "        multiply.step(state, True)\n")),
        consume("no_clone", "before advances, too.", swap("before = state.clone()", "before = state", times=2)),
        consume("one_at_a_time", "Waits for each group before the next.", swap("retire(1, before)", "retire(0, before)")),
        consume("never_deferred", "Rounds and stores at once, whatever defer is.", swap("        if cutlass.const_expr(defer) and number > 0:\n            out.store(number - 1)\n", ""), swap("        if cutlass.const_expr(defer):\n            out.round(number)\n        else:\n            out.round_and_store(number)\n    if cutlass.const_expr(defer):\n        out.store(tiles.items() - 1)\n", "        out.round_and_store(number)\n")),
        consume("always_deferred", "Defers whatever defer is.", swap("const_expr(defer", "const_expr(True", times=3), words=("with defer=False",)),
        consume("stores_before_the_step", "Nothing is in flight while it stores.", swap("        multiply.step(state, True)\n", ""), swap("            out.store(number - 1)\n        before", "            out.store(number - 1)\n        multiply.step(state, True)\n        before")),
        consume("stores_at_the_end", "Stores the previous tile when this one is complete.", swap("        if cutlass.const_expr(defer) and number > 0:\n            out.store(number - 1)\n", ""), swap("            out.round(number)\n", "            if number > 0:\n                out.store(number - 1)\n            out.round(number)\n")),
        consume("without_the_last", "The last tile waits in registers forever.", swap("    if cutlass.const_expr(defer):\n        out.store(tiles.items() - 1)\n", "")),
        consume("stores_this_tile", "Stores a tile that has not been rounded.", swap("out.store(number - 1)", "out.store(number)")),
        consume("one_before_the_first", "Stores tile -1.", swap(" and number > 0", "")),
        consume("not_complete", "Rounds while the last wgmma still adds.", swap("        multiply.retire(0, before)\n", "")),
        consume("rounds_before_the_wait", "The same, and waits afterwards.", swap("        multiply.retire(0, before)\n        if", "        if"), swap("            out.round_and_store(number)\n", "            out.round_and_store(number)\n        multiply.retire(0, before)\n")),
        consume("adds_to_the_last_tile", "The first step does not discard the accumulators.", swap("step(state, True)", "step(state, False)")),
        consume("discards_each_step", "Only the last K tile is left.", swap("step(state, False)", "step(state, True)")),
        consume("drains_each_tile", "Waits until TMA has read each tile.", swap("            out.round_and_store(number)\n", "            out.round_and_store(number)\n            out.drain()\n"), swap("            out.store(number - 1)\n", "            out.store(number - 1)\n            out.drain()\n")),
        consume("meets_in_each_step", "A barrier of the warpgroup.", swap("retire(1, before)\n", "retire(1, before)\n            cute.arch.barrier(barrier_id=9, number_of_threads=128)\n")),
        consume("no_drain", "The block may end while TMA reads its shared memory.", without("out.drain()")),
        consume("one_step_more", "Waits for a K tile that is the next tile's.", swap("k_tiles - 1,", "k_tiles,")),
        consume("of_the_first_item", "Every item has the first one's K tiles, and the place is the first one's.", swap("out.round_and_store(number)", "out.round_and_store(0)"), swap("out.store(number - 1)", "out.store(0)")),
        consume("frees_the_new_stage", "Frees the stage that has just been issued.", swap("retire(1, before)", "retire(1, state)")),
        consume("frees_the_last_twice", "The last stage of all, once more.", swap("    if cutlass.const_expr(defer):\n        out.store(tiles.items() - 1)", "    multiply.retire(0, before)\n    if cutlass.const_expr(defer):\n        out.store(tiles.items() - 1)"), swap("    for number in cutlass.range(tiles", "    before = state.clone()\n    for number in cutlass.range(tiles"), words=("mbarrier.arrive instructions; 300 are enough",)),
        consume("one_tile", "As if a block had one tile.", swap("cutlass.range(tiles.items()", "cutlass.range(1")),
        says("calls consume_tiles")(course.consume_tiles),
    ],
    "14.15": [
        store("no_wait", "Writes a buffer that TMA still reads.", swap(WAIT_FIRST, "pass"), swap(WAIT_LATER, "pass")),
        store("not_before_the_first", "The previous tile's last copies may still read the buffers.", swap(WAIT_FIRST, "pass")),
        store("only_before_the_first", "The third piece overwrites the first one's buffer.", swap(WAIT_LATER, "pass")),
        store("one_group_too_many", "As many copies in flight as there are buffers, and one more piece.", swap("out.buffers - 1, read", "out.buffers, read")),
        store("only_the_newest", "The first piece waits for the tile's copies but the newest one.", swap("wait_group(0, read", "wait_group(out.buffers - 1, read")),
        store("waits_for_c", "Waits until C is written.", swap(", read=True", "", times=2)),
        store("one_at_a_time", "Waits for all copies before each piece.", swap(WAIT_LATER, WAIT_FIRST)),
        store("lanes_do_not_know", "Only the lane that issued the copies has waited.", swap("            cute.arch.sync_warp()\n", "", times=2)),
        store("no_fence", "TMA may not see what stmatrix wrote.", swap(FENCE, "")),
        store("fence_afterwards", "The fence comes after the copy.", swap(FENCE, ""), swap(COPY, COPY + FENCE)),
        store("warp_not_together", "The copy reads what other lanes have not written yet.", swap("        cute.arch.sync_warp()\n        out.copy", "        out.copy")),
        store("no_commit", "A copy in no group is waited for by no one.", swap(COMMIT, "        pass")),
        store("one_commit", "One group for a whole tile.", swap("\n" + COMMIT, "\n    cute.arch.cp_async_bulk_commit_group()")),
        store("commits_first", "The group closes before the copy is issued.", swap(COPY + COMMIT, COMMIT + "\n" + COPY.rstrip())),
        store("copies_first", "Copies the buffer before it is written.", swap("        out.write(piece, buffer)\n", ""), swap(COMMIT, COMMIT + "\n        out.write(piece, buffer)")),
        store("one_buffer", "All pieces go through buffer 0.", swap("piece % out.buffers", "0")),
        store("a_buffer_each", "As if there were a buffer for each piece.", swap("piece % out.buffers", "piece")),
        store("writes_twice", "Each piece is written twice.", swap("        out.write(piece, buffer)\n", "        out.write(piece, buffer)\n" * 2)),
        store("copies_twice", "Each piece is stored twice.", swap(COPY, COPY * 2)),
        store("warpgroup_meets", "Four warps meet for each piece.", swap(COMMIT, COMMIT + "\n        cute.arch.barrier(barrier_id=9, number_of_threads=128)"), words=("bar.sync/barrier instructions",)),
        store("meets_after_the_copy", "A third barrier of the warp for each piece.", swap(COMMIT, COMMIT + "\n        cute.arch.sync_warp()")),
        store("two_buffers", "As many buffers as this kernel has.", swap("piece % out.buffers", "piece % 2"), swap("piece >= out.buffers", "piece >= 2"), swap("out.buffers - 1, read", "1, read")),
        store("the_first_piece", "Only one piece.", swap("range_constexpr(out.pieces)", "range_constexpr(1)")),
        says("calls store_pieces")(course.store_pieces),
    ],
    "14.5": [
        load("only_itself", "No other block receives.", swap("sum(1 << n * cluster[0] for n in range(cluster[1])) << block[0]", "1 << block[0] + block[1] * cluster[0]"), swap("((1 << cluster[0]) - 1) << block[1] * cluster[0]", "1 << block[0] + block[1] * cluster[0]")),
        load("to_everybody", "The whole cluster receives.", swap("sum(1 << n * cluster[0] for n in range(cluster[1])) << block[0]", "(1 << cluster[0] * cluster[1]) - 1"), swap("((1 << cluster[0]) - 1) << block[1] * cluster[0]", "(1 << cluster[0] * cluster[1]) - 1")),
        load("the_other_matrix", "A's mask for B, and B's for A.", swap("const_expr(mode == 0)", "const_expr(mode == 1)")),
        load("ranks_along_n", "As if ranks ran along N first.", swap("sum(1 << n * cluster[0] for n in range(cluster[1])) << block[0]", "((1 << cluster[1]) - 1) << block[0] * cluster[1]"), swap("((1 << cluster[0]) - 1) << block[1] * cluster[0]", "sum(1 << m * cluster[1] for m in range(cluster[0])) << block[1]")),
        load("the_first_row", "Masks of block (0, 0).", swap(" << block[0]", ""), swap(" << block[1] * cluster[0]", "")),
        load("not_to_itself", "Every block but this one.", swap("operand.copy(source, target, full, mask)", "operand.copy(source, target, full, mask & ~(1 << block[0] + block[1] * cluster[0]))")),
        load("all_of_it", "Every block loads the whole tile for all.", swap("block[1 - mode],", "0,"), swap("cute.make_layout(cluster[1 - mode])", "cute.make_layout(1)")),
        load("the_first_slice", "Every block loads the same slice.", swap("block[1 - mode],", "0,")),
        load("its_own_mode", "Cut along the wrong side of the cluster.", swap("block[1 - mode]", "block[mode]"), swap("cluster[1 - mode]", "cluster[mode]")),
        load("shifted_once", "B's mask moves by one rank.", swap("<< block[1] * cluster[0]", "<< block[1]")),
        load("another_row", "Row and K tile exchanged.", swap("[None, None, row, k_tile]", "[None, None, k_tile, row]")),
        load("one_stage", "Always into stage 0.", swap("[None, None, stage]", "[None, None, 0]")),
        load("no_multicast", "The whole tile, for this block alone.", swap("block[1 - mode],", "0,"), swap("cute.make_layout(cluster[1 - mode])", "cute.make_layout(1)"), swap("operand.copy(source, target, full, mask)", "operand.copy(source, target, full, 1 << block[0] + block[1] * cluster[0])")),
        load("fences", "A fence of the GPU for each slice.", swap("    operand.copy(", "    cute.arch.fence_acq_rel_gpu()\n    operand.copy("), words=("fence instructions",)),
        load("sides_exchanged", "Source for target.", swap("target, source =", "source, target =")),
        says("not a @cute.jit function")(plain_python),
        says("calls load_shared")(course.load_shared),
    ],
    "14.16": [
        free("only_here", "Tells the own block alone.", swap("(m == ring.block[0] or n == ring.block[1])", "m == ring.block[0] and n == ring.block[1]")),
        free("only_its_row", "Those with its n loaded B's slices.", swap("(m == ring.block[0] or n == ring.block[1])", "m == ring.block[0]")),
        free("only_its_column", "Those with its m loaded A's slices.", swap("(m == ring.block[0] or n == ring.block[1])", "n == ring.block[1]")),
        free("everybody", "Tells every block of the cluster.", swap(" and (m == ring.block[0] or n == ring.block[1])", "")),
        free("all_lanes", "Lanes beyond the cluster arrive, too.", swap("n < ring.cluster[1] and ", "")),
        free("ranks_along_n", "As if ranks ran along N first.", swap("m, n = lane % ring.cluster[0], lane // ring.cluster[0]", "m, n = lane // ring.cluster[1], lane % ring.cluster[1]"), swap("n < ring.cluster[1] and", "m < ring.cluster[0] and")),
        free("in_the_own_block", "The lanes arrive here, not there.", swap("(ring.empty + stage, ring.first + lane)", "(ring.empty + stage)")),
        free("one_lane", "One lane of the warp arrives, once.", swap("n < ring.cluster[1] and (m == ring.block[0] or n == ring.block[1])", "lane == 0")),
        free("the_first_part", "With K split, the blocks of another part.", swap("ring.first + lane", "lane")),
        free("stage_0", "Always the first stage.", swap("ring.empty + stage", "ring.empty")),
        free("full", "Frees the wrong mbarrier.", swap("ring.empty + stage", "ring.full + stage")),
        free("twice_here", "The own block is in its row and in its column.", swap("        cute.arch.mbarrier_arrive(ring.empty + stage, ring.first + lane)", "        cute.arch.mbarrier_arrive(ring.empty + stage, ring.first + lane)\n    if m == ring.block[0] and n == ring.block[1]:\n        cute.arch.mbarrier_arrive(ring.empty + stage)")),
        free("relaxed", "Arrivals that do not release.", swap("ring.first + lane)", "ring.first + lane, relaxed=True)")),
        free("nothing", "Never frees a stage.", swap("        cute.arch.mbarrier_arrive(ring.empty + stage, ring.first + lane)", "        pass")),
        free("not_the_own", "Tells the others only.", swap("(m == ring.block[0] or n == ring.block[1])", "(m == ring.block[0] and n != ring.block[1] or m != ring.block[0] and n == ring.block[1])")),
        says("not a @cute.jit function")(plain_python),
        says("calls free_stage")(course.free_stage),
    ],
    "14.17": [
        give("flag_before_it_writes", "The flag is up before the accumulators are there.", swap("    part.write()\n", ""), swap(RAISE, RAISE + "\n    part.write()")),
        give("others_still_write", "The lane with the flag does not wait for the others.", without("sync_warp")),
        give("no_release", "The flag may be seen before the accumulators.", swap('sem="release"', 'sem="relaxed"')),
        give("for_the_own_sm", "Published to its own block only.", swap('scope="gpu"', 'scope="cta"')),
        give("no_flag", "The other block waits forever.", swap(RAISE, "pass")),
        give("writes_nothing", "A flag, and nothing to add.", without("part.write()")),
        give("two", "Raises it to another value, and the next launch finds 2.", swap("Int32(1)", "Int32(0)")),
        add("no_wait", "Adds whatever is there.", swap("    given = Int32(0)\n", "    given = Int32(1)\n")),
        add("no_acquire", "May have read the accumulators before the flag.", swap('sem="acquire"', 'sem="relaxed"')),
        add("asks_once", "Looks at the flag, and adds in any case.", swap("    while given == 0:\n        given = ", "    given = ")),
        add("never_cleared", "The next launch finds the flag up.", swap(CLEAR, "    pass")),
        add("cleared_first", "Waits, clears the flag and forgets to add.", swap(ADD, "")),
        add("one_slice", "Adds a part of the accumulators.", swap("part.slices)", "1)")),
        add("four_slices", "As many as another tile has.", swap("part.slices)", "4)")),
        add("loop_at_run_time", "A slice of registers has its number when the kernel is compiled.", swap("range_constexpr(part.slices)", "range(part.slices, unroll=1)")),
        add("twice", "Adds each slice twice.", swap("        part.add(number)\n", "        part.add(number)\n        part.add(number)\n")),
        add("not_the_last", "Leaves out the last slice.", swap("part.slices)", "part.slices - 1)")),
        add("scope_of_a_block", "Listens to its own SM only.", swap('sem="acquire", scope="gpu"', 'sem="acquire", scope="cta"')),
        answer("exchanged", "(add, give).", NamedPair(own.add_part, own.give_part)),
        answer("one_function", "Only one of the two.", own.give_part, "is not 2 functions"),
    ],
    "14.18": [
        answer("the_courses_parts", "The kernel as it comes.", lambda m, n, k: (choose(m, n, k), Parts())),
        whole("one_of_the_courses", "One slot is the course's.", store=course.store_pieces),
        whole("no_configuration", "The parts alone.", "is not a pair", pair=False),
        answer("another_kind", "A tuple of functions for Parts.", lambda m, n, k: (HopperConfig(), tuple(vars(OWN).values())), "is not a pair"),
        whole("one_configuration", "The same for every shape, whatever it has chosen.", "your `choose` for the shape", config=HopperConfig()),
        answer("for_the_other_matrix", "M and N exchanged.", lambda m, n, k: (choose(n, m, k), OWN)),
        whole("in_fp8", "A and B are bf16.", "A and B are bf16", config=HopperConfig(dtype="e4m3")),
        whole("give_and_add_exchanged", "Two slots exchanged.", give=own.add_part, add=own.give_part),
        whole("load_and_free_exchanged", "Two slots exchanged, which take different arguments.", load=own.free_stage, free=own.load_shared),
        whole("stores_without_a_wait", "Its store overwrites buffers in flight.", store=store("w_no_wait", "", swap(WAIT_FIRST, "pass"), swap(WAIT_LATER, "pass"))),
        whole("frees_only_here", "Its free tells the own block alone.", free=free("w_only_here", "", swap("(m == ring.block[0] or n == ring.block[1])", "m == ring.block[0] and n == ring.block[1]"))),
        whole("a_state_for_each_tile", "Its producer begins each tile at stage 0.", produce=produce("w_state", "", swap(ITEM, "    " + PRODUCER_STATE + ITEM))),
        whole("sends_to_everybody", "Its load multicasts to the whole cluster.", load=load("w_all", "", swap("((1 << cluster[0]) - 1) << block[1] * cluster[0]", "(1 << cluster[0] * cluster[1]) - 1"), swap("sum(1 << n * cluster[0] for n in range(cluster[1])) << block[0]", "(1 << cluster[0] * cluster[1]) - 1"))),
        whole("adds_without_a_wait", "Its add does not wait for the flag.", add=derive(own.add_part, "w_no_flag", "", swap("    given = Int32(0)\n", "    given = Int32(1)\n"))),
        whole("nothing_is_returned", "Its producer returns no registers.", roles=roles("w_no_dec", "", without("setmaxregister_decrease"))),
        whole("plain_function", "A slot that is no @cute.jit function.", "not a @cute.jit function", produce=plain_python),
        answer("not_a_function", "A pair, not a function.", NamedPair(HopperConfig(), OWN)),
    ],
}  # fmt: skip
