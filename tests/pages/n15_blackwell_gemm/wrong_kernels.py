"""Wrong answers to notebook 15: the kernel around the loops and its launch, for a block alone and for a pair."""

from tests.pages.change import derive, swap, without
from tests.pages.changed import right_answers
from tests.pages.table import says

PAGE = right_answers("15_blackwell_gemm")
RELEASE = "    parts.release(block.warp, config.columns, acc)"
DRAIN = "        await_empty(steps)"
STORED = "        cute.arch.cp_async_bulk_wait_group(0, read=True)"
BLOCKS = "min(tiles_m * tiles_n, sms)"
LAUNCH = "kernel.launch(grid=(blocks, 1, 1), block=(192, 1, 1))"
PAIR_LAUNCH = "kernel.launch(grid=(2 * clusters, 1, 1), block=(192, 1, 1), cluster=(2, 1, 1))"
PAIR_ALLOC = "        cute.arch.alloc_tmem(columns, address, is_two_cta=True)\n"
PAIR_GIVE_UP = "        cute.arch.relinquish_tmem_alloc_permit(is_two_cta=True)\n"
BARRIER = "    cute.arch.cluster_arrive()\n    cute.arch.cluster_wait()"


def changed(id, name, what, *changes_and_words, within=""):
    words = [part for part in changes_and_words if isinstance(part, str)]
    changes = [part for part in changes_and_words if not isinstance(part, str)]
    return says(*words)(derive(PAGE[id], name, what, *changes, within=within))


def kernel(name, what, *changes_and_words):
    return changed("15.13", name, what, *changes_and_words, within="blackwell_kernel")


def host(name, what, *changes_and_words):
    return changed("15.13", name, what, *changes_and_words)


def pair(name, what, *changes_and_words, within=""):
    return changed("15.14", name, what, *changes_and_words, within=within)


KERNELS = [
    kernel("no_release", "Tensor memory is never freed.", swap(RELEASE, "    pass")),
    kernel("no_await_empty", "Commits are in flight to a block that ends.", without(DRAIN)),
    kernel("no_wait_for_stores", "TMA reads the memory of a block that ends.", without("cp_async_bulk_wait_group")),
    kernel(
        "all_wait_for_stores",
        "A wait in a warp that stores nothing.",
        swap(STORED, "        pass"),
        swap("        await_empty(steps)", "        await_empty(steps)\n    " + STORED.strip()) ,
        lambda lines: [line for line in lines if line.strip() != "pass"],
    ),
    kernel("all_warps_store", "All six warps run the epilogue.", swap("    if block.warp < 4:", "    if block.warp < 6:")),
    kernel("three_warps_store", "Rows 96 to 127 are never read.", swap("    if block.warp < 4:", "    if block.warp < 3:")),
    kernel("one_warp_stores", "A quarter of the rows.", swap("    if block.warp < 4:", "    if block.warp == 0:")),
    kernel("no_producer", "Nothing is loaded.", swap("        parts.produce(steps)\n", "")),
    kernel("no_multiplier", "Nothing is multiplied.", swap("    if block.warp == 4:\n        parts.multiply(steps)\n", "")),
    kernel("multiplies_in_all_warps", "Each warp multiplies.", swap("    if block.warp == 4:", "    if block.warp >= 0:")),
    kernel("half_the_columns", "Room for one accumulator.", swap("config.columns, block.address", "config.columns // 2, block.address")),
    kernel("columns_of_the_tile", "Room for a tile.", swap("config.columns, block.address", "config.tile[1], block.address"), swap("config.columns, acc", "config.tile[1], acc")),
    kernel("all_512_columns", "The columns of 128×256, whatever the tile is.", swap("config.columns", "512", 2), "in a tile of 128 columns"),
    kernel("frees_fewer", "Frees half of the columns.", swap("config.columns, acc", "config.columns // 2, acc")),
    kernel("frees_before_the_work", "Released before the loops.", without("parts.release"), swap("    steps = block.steps_in(acc)", f"    steps = block.steps_in(acc)\n{RELEASE}")),
    kernel("release_in_a_role", "Only the epilogue releases.", swap(RELEASE, "    if block.warp < 4:\n    " + RELEASE)),
    kernel("allocates_in_a_role", "Only the MMA warp allocates.", swap("    acc = parts.allocate(", "    if block.warp == 4:\n        parts.allocate(block.warp, config.columns, block.address)\n    acc = parts.allocate(")),
    kernel("its_own_loops", "Calls the page's functions, whatever the parts are.", *(swap(f"parts.{role}(", f"{role}(") for role in ("produce", "multiply", "store")), "parts.produce, parts.multiply, parts.store"),
    kernel("its_own_release", "One part bypassed.", swap("parts.release(", "release("), "never calls parts.release:"),
    kernel("the_parts_it_knows", "One part of an object that it has from the page, whatever the parts are.", swap("parts.multiply(steps)", "alone_parts.multiply(steps)"), "never calls parts.multiply:"),
    kernel("all_warps_drain", "Each warp waits until all stages are empty.", without(DRAIN), swap(RELEASE, f"    await_empty(steps)\n{RELEASE}"), "mbarrier.try_wait instructions"),
    kernel("barriers_without_need", "Three more barriers of the block.", swap("    steps = block.steps_in(acc)", "    steps = block.steps_in(acc)\n" + "    cute.arch.sync_threads()\n" * 3), "bar.sync/barrier instructions"),
    kernel("cluster_meets", "Barriers of a cluster that is this block alone.", swap("    steps = block.steps_in(acc)", "    steps = block.steps_in(acc)\n" + "    cute.arch.cluster_arrive()\n    cute.arch.cluster_wait()\n" * 2)),
    kernel("one_role_after_another", "A barrier between the roles.", swap("    if block.warp == 4:", "    cute.arch.sync_threads()\n    if block.warp == 4:")),
    host("one_block_for_each_tile", "Not persistent.", swap(BLOCKS, "tiles_m * tiles_n")),
    host("always_all_sms", "A block for each SM, with or without tiles.", swap(BLOCKS, "sms"), "at 100×72×128 it launches 2 blocks"),
    host("sms_and_tiles", "More blocks than SMs.", swap(BLOCKS, "sms + tiles_m * tiles_n")),
    host("one_block", "One block does everything.", swap(BLOCKS, "1")),
    host("grid_of_tiles", "As many blocks as tiles, and fewer in sizes.", swap("grid=(blocks, 1, 1)", "grid=(tiles_m * tiles_n, 1, 1)")),
    host("half_the_grid", "Half of the blocks are missing.", swap("grid=(blocks, 1, 1)", "grid=(max(blocks // 2, 1), 1, 1)")),
    host("four_warps", "No warp loads or multiplies.", swap("block=(192, 1, 1)", "block=(128, 1, 1)"), "192"),
    host("eight_warps", "Two warps without a role.", swap("block=(192, 1, 1)", "block=(256, 1, 1)"), "192"),
    host("six_threads", "Warps for threads.", swap("block=(192, 1, 1)", "block=(6, 1, 1)"), "192"),
    host("whole_tiles_alone", "Partial tiles are forgotten.", swap("cute.ceil_div(c.shape[0], bM), cute.ceil_div(c.shape[1], bN)", "c.shape[0] // bM, c.shape[1] // bN")),
    host("whole_k_tiles_alone", "A partial K tile is forgotten.", swap("cute.ceil_div(a.shape[1], bK)", "a.shape[1] // bK")),
    host("one_k_tile_more", "A K tile of zeros.", swap("cute.ceil_div(a.shape[1], bK)", "a.shape[1] // bK + 1")),
    host("one_more_than_whole", "A tile of zeros where the last one is whole.", swap("cute.ceil_div(c.shape[1], bN)", "c.shape[1] // bN + 1"), "nothing but zeros"),
    host("tiles_computed_twice", "The blocks share the tiles as if there were one fewer.", swap("k_tiles, blocks", "k_tiles, max(blocks - 1, 1)"), "tcgen05.mma instructions"),
    host("too_little_shared_memory", "Its own number of bytes.", swap("block=(192, 1, 1)", "block=(192, 1, 1), smem=1024")),
    host("launched_twice", "The work of a launch, twice.", swap(LAUNCH, f"{LAUNCH}\n        blackwell_kernel(*tma_atoms(a, b, c, config), tiled_mma, sizes, config, alone_parts).launch(grid=(blocks, 1, 1), block=(192, 1, 1))")),
    host("m_and_n_exchanged", "The numbers of tiles in the other order.", swap("sizes = tiles_m, tiles_n,", "sizes = tiles_n, tiles_m,")),
    host("two_sms", "2 for sms.", swap(BLOCKS, "min(tiles_m * tiles_n, 2)"), "2 of 3 blocks do all of the work"),
    host("narrow_tiles_alone", "128×128 for the tile.", swap("bM, bN, bK = config.tile", "bM, bN, bK = 128, 128, 64")),
    host("this_tile_alone", "128×256 for the tile.", swap("bM, bN, bK = config.tile", "bM, bN, bK = 128, 256, 64")),
    host("b_first", "The descriptors of B and A exchanged.", swap("tma_atoms(a, b, c, config)", "tma_atoms(b, a, c, config)")),
    host("never_launched", "Nothing is launched.", swap(LAUNCH, "pass")),
    host("host_function_called", "Returns None.", swap("    return gemm", "    pass")),
    host("no_jit", "A plain function.", swap("    @cute.jit\n", "")),
]  # fmt: skip

PAIRS = [
    pair("two_clusters", "2 for half of the SMs.", swap("sms // 2", "2"), "4 of 6 blocks do all of the work"),
    pair("barriers_of_a_block", "A barrier of one block before the work.", swap(BARRIER, "    cute.arch.sync_threads()"), within="pair_allocate"),
    pair("ends_alone", "A barrier of one block after the work.", swap(BARRIER, "    cute.arch.sync_threads()"), within="pair_release"),
    pair("no_barrier_at_the_end", "No barrier after the work.", swap(BARRIER + "\n", ""), within="pair_release"),
    pair("arrives_without_waiting", "No wait after the arrival.", without("cluster_wait"), within="pair_allocate"),
    pair("waits_without_arriving", "No arrival before the wait.", without("cluster_arrive"), within="pair_release"),
    pair("allocates_alone", "is_two_cta is missing.", swap("columns, address, is_two_cta=True", "columns, address"), within="pair_allocate"),
    pair("relinquishes_alone", "is_two_cta is missing.", swap("permit(is_two_cta=True)", "permit()"), within="pair_allocate"),
    pair("frees_alone", "is_two_cta is missing.", swap("acc, columns, is_two_cta=True", "acc, columns"), within="pair_release"),
    pair("never_relinquishes_in_a_pair", "Both blocks keep their right to allocate.", swap(PAIR_GIVE_UP, ""), within="pair_allocate"),
    pair("gives_up_first_in_a_pair", "It no longer has the right to allocate.", swap(PAIR_ALLOC + PAIR_GIVE_UP, PAIR_GIVE_UP + PAIR_ALLOC), "has given up its right to allocate", within="pair_allocate"),
    pair("all_warps_relinquish_in_a_pair", "Once for each block is enough.", swap(PAIR_GIVE_UP, ""), swap(BARRIER, f"{BARRIER}\n{PAIR_GIVE_UP.rstrip()[4:]}"), "24 tcgen05.relinquish", within="pair_allocate"),
    pair("column_0_of_both", "Takes for granted that the allocation begins at column 0.", swap("cute.arch.retrieve_tmem_ptr(Float32, 16, address)", "cute.make_ptr(Float32, 0, cute.AddressSpace.tmem, assumed_align=16)"), "which are not allocated", within="pair_allocate"),
    pair("cluster_barriers_everywhere", "Four barriers where one is needed.", swap(BARRIER, "\n".join([BARRIER] * 4)), "barrier.cluster.arrive instructions", within="pair_allocate"),
    pair("one_more_than_whole_pairs", "A tile of zeros where the last one is whole.", swap("cute.ceil_div(c.shape[1], bN)", "c.shape[1] // bN + 1"), "nothing but zeros"),
    pair("relaxed_arrivals_before", "Arrivals that do not release: the address may not be there.", swap("cluster_arrive()", "cluster_arrive_relaxed()"), "with no barrier between", within="pair_allocate"),
    pair("relaxed_arrivals_after", "A block may end before the other's arrivals have come.", swap("cluster_arrive()", "cluster_arrive_relaxed()"), "may end before", within="pair_release"),
    pair("all_warps_drain_in_a_pair", "Each warp waits until all stages are empty.", without(DRAIN), swap(RELEASE, f"    await_empty(steps)\n{RELEASE}"), "mbarrier.try_wait instructions", within="blackwell_kernel"),
    pair("its_own_part_in_a_pair", "One part of an object that it has from the page.", swap("parts.multiply(steps)", "pair_parts.multiply(steps)"), "never calls parts.multiply:", within="blackwell_kernel"),
    pair("blocks_meet", "Each block meets five times before both do.", swap(BARRIER, "    cute.arch.sync_threads()\n" * 5 + BARRIER), "bar.sync/barrier.cluster.arrive instructions", within="pair_allocate"),
    pair("leader_allocates", "Block 1 has no tensor memory.", swap("    if warp == 4:", "    rank = cute.arch.block_idx_in_cluster()\n    if warp == 4 and rank == 0:"), within="pair_allocate"),
    pair("never_frees", "The next block waits forever.", swap("        cute.arch.dealloc_tmem(acc, columns, is_two_cta=True)", "        pass"), within="pair_release"),
    pair("all_warps_allocate", "All six warps of both blocks.", swap("    if warp == 4:", "    if warp >= 0:"), within="pair_allocate"),
    pair("no_cluster", "Blocks that know nothing of each other.", swap(", cluster=(2, 1, 1)", "")),
    pair("cluster_of_four", "Two pairs in a cluster.", swap("cluster=(2, 1, 1)", "cluster=(4, 1, 1)")),
    pair("half_the_grid", "A block for each cluster.", swap("grid=(2 * clusters", "grid=(clusters")),
    pair("a_pair_on_each_sm", "As many pairs as SMs.", swap("sms // 2)", "sms)")),
    pair("blocks_in_sizes", "sizes counts blocks.", swap("bK), clusters", "bK), 2 * clusters")),
    pair("tiles_of_a_block", "128 rows for a tile.", swap("cute.ceil_div(c.shape[0], bM)", "cute.ceil_div(c.shape[0], bM // 2)")),
    pair("mma_of_a_block", "A TiledMma for one block.", swap("make_umma(config.tile, True)", "make_umma((bM // 2, bN, bK), False)")),
    pair("parts_of_a_block", "The parts for a block alone.", swap("sizes, config, pair_parts)", "sizes, config, alone_parts)")),
    pair("one_epilogue_warp", "Three warps in each block.", swap("block=(192, 1, 1)", "block=(96, 1, 1)"), "192"),
    pair("always_all_sms", "A pair for every two SMs, with or without tiles.", swap("min(tiles_m * tiles_n, sms // 2)", "sms // 2"), "at 100×72×128 it launches 4 blocks"),
    pair("one_pair", "One pair does everything.", swap("min(tiles_m * tiles_n, sms // 2)", "1")),
]  # fmt: skip

never = derive(PAGE["15.14"], "never_relinquished", "", swap(PAIR_GIVE_UP, ""), within="pair_allocate")
late = swap("        cute.arch.dealloc", f"{PAIR_GIVE_UP}        cute.arch.dealloc")
what = "Both blocks keep their right to allocate until they free."
PAIRS.append(derive(never, "relinquishes_last_in_a_pair", what, late, within="pair_release", words=["while it works"]))

WRONG = {"15.13": KERNELS, "15.14": PAIRS}
