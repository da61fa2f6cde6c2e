"""Wrong and unusual answers to 12.4 and 12.6, the whole kernels of notebook 12."""

from functools import partial

from tests.pages.change import derive, swap, without
from tutorlib.course.answers import load_answers

ANSWERS = load_answers("12_three_stages")
WAIT = "wait_group(steps.stages - 2)"
ORDER = "return l2.grouped(block, rows, across, 8 if rows > 32 else rows)"
TUNED = "GemmConfig(tile=(128, 256, 32), warps=(2, 4), stages=4)"
AHEAD = "steps.fetch(k_block + 1, read)"
ISSUED = """\
        if ahead < steps.k_tiles:
            steps.load(ahead, write)
        cute.arch.cp_async_commit_group()
        write = read
"""
MULTIPLIED = "            steps.multiply(k_block)"
BEHIND_THE_FIRST = f"""\
{MULTIPLIED}
            if cutlass.const_expr(k_block == 0):
                if ahead < steps.k_tiles:
                    steps.load(ahead, write)
                cute.arch.cp_async_commit_group()
                write = read"""
WITHOUT_AN_IF = f"""\
{MULTIPLIED}
            if cutlass.const_expr(k_block == 0):
                steps.load(cutlass.min(ahead, steps.k_tiles - 1), write)
                cute.arch.cp_async_commit_group()
                write = read
    cute.arch.cp_async_wait_group(0)"""

# 12.4 -----------------------------------------------------------------------------------------------------------

MADE = "make_gemm(tuned(), multistage, in_groups)(a, b, c)"
KEEP = swap("@cute.jit", "CONFIG = tuned()\n\n\n@cute.jit")


rung = partial(derive, ANSWERS["12.4"])


def made_of(config: str, rest: str = "multistage, in_groups", call: str = "(a, b, c)"):
    return swap(MADE, f"make_gemm({config}, {rest}){call}")


RUNGS = [
    rung(
        "three_stages",
        "Three stages of a smaller tile, whatever tuned() says.",
        made_of("GemmConfig((128, 128, 32), (2, 2), 3)"),
    ),
    rung(
        "same_threads_and_bytes",
        "As many threads and as much shared memory as tuned() has, of another tile.",
        made_of("GemmConfig((256, 128, 32), (4, 2), 4)"),
    ),
    rung("same_configuration", "What tuned() returns, written down again.", made_of(TUNED)),
    rung(
        "stages_of_its_own",
        "Takes the tile and the threads from tuned(), and always three stages.",
        made_of("GemmConfig(tuned().tile, tuned().warps, 3)"),
    ),
    rung(
        "default_order",
        "Leaves out the order: down one column of tiles after the other.",
        made_of("tuned()", "multistage"),
    ),
    rung(
        "kept_in_raster_order",
        "Keeps tuned()'s configuration in a variable, and leaves out the order.",
        KEEP,
        made_of("CONFIG", "multistage"),
    ),
    rung(
        "raster_order", "Tiles along rows.", swap(ORDER, "return block // across, block % across"), within="in_groups"
    ),
    rung(
        "rows_of_8",
        "Every group has 8 rows, also the last.",
        made_of("tuned()", "multistage, lambda block, rows, across: l2.grouped(block, rows, across, 4)"),
    ),
    rung("one_tile", "Every block computes the same.", swap(ORDER, "return 0 * block, 0 * block"), within="in_groups"),
    rung(
        "groups_at_8192_alone",
        "Raster order, but for the size that is timed.",
        swap(ORDER, "return l2.grouped(block, rows, across, 8 if rows == 64 else rows)"),
        within="in_groups",
    ),
    rung("launched_twice_by_the_host", "The same C twice.", swap(MADE, f"{MADE}\n    {MADE}")),
    rung("not_called", "Makes the host function, and does not call it.", made_of("tuned()", call="")),
    rung("exchanged", "B for A.", made_of("tuned()", call="(b, a, c)")),
    rung("loop_of_the_course", "The course's loop.", made_of("tuned()", "course.multistage, in_groups")),
    rung("one_buffer_loop", "Page 09's loop.", made_of("tuned()", "course.single_buffer, in_groups")),
    rung(
        "nothing_in_flight",
        "Waits for every group: one tile at a time.",
        swap(WAIT, "wait_group(0)", times=2),
        swap(
            "        ahead = k_tile + steps.stages - 1\n        if ahead < steps.k_tiles:\n"
            "            steps.load(ahead, write)\n        cute.arch.cp_async_commit_group()\n        write = read\n",
            "        ahead = k_tile + steps.stages - 1\n        if ahead < steps.k_tiles:\n"
            "            steps.load(ahead, write)\n        cute.arch.cp_async_commit_group()\n"
            "        cute.arch.cp_async_wait_group(0)\n        write = read\n",
        ),
        within="multistage",
    ),
    rung(
        "a_needless_barrier",
        "Two barriers in each step.",
        swap("        write = read\n", "        write = read\n        cute.arch.sync_threads()\n"),
        within="multistage",
    ),
    rung(
        "fetches_again",
        "Fetches a K block ahead, and once more before it is multiplied.",
        swap(AHEAD, f"{AHEAD}\n                steps.fetch(k_block, read)"),
        within="multistage",
    ),
]

RIGHT_RUNGS = [
    rung(
        "smaller_tile",
        "Three stages of a smaller tile.",
        swap(TUNED, "GemmConfig((128, 128, 32), (2, 2), 3)"),
        within="tuned",
    ),
    rung(
        "spelled_out",
        "Takes the configuration apart and puts it together again.",
        made_of("GemmConfig(tile=tuned().tile, warps=tuned().warps, stages=tuned().stages)"),
    ),
    rung("kept_in_a_variable", "Calls tuned() once, and keeps the configuration.", KEEP, made_of("CONFIG")),
    rung(
        "strips_of_columns",
        "Groups of columns in place of rows.",
        swap(ORDER, "return l2.grouped(block, across, rows, 8)[::-1]"),
        within="in_groups",
    ),
    rung(
        "in_steps",
        "Keeps the host function in a variable.",
        swap(MADE, "host = make_gemm(config=tuned(), main_loop=multistage, order=in_groups)\n    host(a, b, c)"),
    ),
]

# 12.6 -----------------------------------------------------------------------------------------------------------


m_major = partial(derive, ANSWERS["12.6"])
in_host, in_kernel = (partial(m_major, within=name) for name in ("gemm_m_major", "m_major_kernel"))
CALL = "    KEPT[shape](*views)"
COMPILED = "KEPT[shape] = cute.compile(m_major_host, *views)"
VIEWS = "from_dlpack(x, assumed_align=16)"
LOAD = "            cute.copy(g2s, g[None, None, None, k_tile], s[None, None, None, buffer])"
LOOP = "    multistage(Share(k_tiles, config.stages, bK // 16, to_smem, to_registers, mma, tCrA, tCrB, tCrC))"
CONFIG = "config = tuned()"
LDMATRIX = "LdMatrix8x8x16bOp(transpose, 4)"
ROUNDED = "    rounded.store(tCrC.load().to(dtype))\n    cute.autovec_copy(rounded, tCgC)"
STAGED = """\
    rounded.store(tCrC.load().to(dtype))
    cute.autovec_copy(rounded, math.partition_C(cute.composition(sC, (None, columns))))
    cute.arch.sync_threads()
    plain, lanes = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype, num_bits_per_copy=128), bN // 8
    rows = cute.make_layout((config.threads // lanes, lanes), stride=(lanes, 1))
    stores = cute.make_tiled_copy_tv(plain, rows, cute.make_layout((1, 8))).get_slice(thread)
    tSsC, tSgC = stores.partition_S(sC), stores.partition_D(cute.local_tile(mC, (bM, bN), (m, n)))
    row = cute.make_fragment_like(tSsC[None, 0, 0])
    for i in cutlass.range_constexpr(cute.size(tSsC, mode=[1])):
        cute.copy(plain, tSsC[None, i, 0], row)
        cute.copy(plain, row, tSgC[None, i, 0])"""

INLINE = """\
    share = Share(k_tiles, config.stages, bK // 16, to_smem, to_registers, mma, tCrA, tCrB, tCrC)
    for k_tile in cutlass.range_constexpr(config.stages - 1):
        if cutlass.const_expr(k_tile < k_tiles):
            share.load(k_tile, k_tile)
        cute.arch.cp_async_commit_group()
    for k_tile in range(k_tiles):
        cute.arch.cp_async_wait_group(config.stages - 2)
        cute.arch.sync_threads()
        if k_tile + config.stages - 1 < k_tiles:
            share.load(k_tile + config.stages - 1, (k_tile + config.stages - 1) % config.stages)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(bK // 16):
            share.fetch(k_block, k_tile % config.stages)
            share.multiply(k_block)"""


def of(config: str):
    return swap(CONFIG, f"config = {config}")


def staged(name: str, what: str, pad: int):
    """C goes through shared memory whose rows have `pad` elements more."""
    memory = f"memory.allocate_tensor(dtype, cute.make_layout((bM, bN), stride=(bN + {pad}, 1)), byte_alignment=128)"
    through = in_kernel(
        name, what, swap(ROUNDED, STAGED), swap("    cp_async = cute", f"    sC = {memory}\n    cp_async = cute")
    )
    return derive(through, name, what, of("GemmConfig((128, 128, 64), (2, 2), 3)"), within="m_major_host")


def in_a_loop_over_tiles(lines: list[str]) -> list[str]:
    """The kernel's lines from the order of blocks on, but for shared memory, as the body of a loop."""
    at = next(n for n, line in enumerate(lines) if "= in_groups(" in line)
    outside = [line for line in lines[at:] if line.startswith(("    width", "    layout", "    atom_b", "    memory"))]
    outside += [line for line in lines[at:] if line.startswith(("    sA", "    sB"))]
    inside = [f"    {line}".replace("(block,", "(tile,") for line in lines[at:] if line not in outside]
    loop = ["    rows, wide = config.grid(*mC.shape)", "    for tile in range(block, rows * wide, 3):"]
    return [*lines[:at], *outside, *loop, "        cute.arch.sync_threads()", *inside]


WHOLE = [
    in_kernel(
        "no_trans",
        "ldmatrix without transpose for both.",
        swap("for transpose in (False, True)", "for transpose in (False, False)"),
    ),
    in_kernel("trans_for_b", "Transposes B, and not A.", swap("plain, trans = (", "trans, plain = (")),
    in_kernel(
        "a_not_swizzled",
        "A in shared memory as it comes.",
        swap("swizzled(cute.make_layout((64, 8)), 3,", "swizzled(cute.make_layout((64, 8)), 0,"),
    ),
    in_kernel("b_not_swizzled", "B in shared memory as it comes.", swap("3 if width == 64 else 2", "0")),
    in_kernel(
        "threads_along_k",
        "Neighboring threads copy A along K.",
        swap(
            "cute.make_layout((8, config.threads // 8))",
            "cute.make_layout((8, config.threads // 8), stride=(config.threads // 8, 1))",
        ),
    ),
    in_kernel(
        "values_along_k",
        "A's vectors run along K, as page 09's do.",
        swap("along_m, cute.make_layout((8, 1))", "along_m, cute.make_layout((1, 8))"),
    ),
    in_kernel(
        "four_bytes",
        "cp.async of 4 bytes.",
        swap(
            "LoadCacheMode.GLOBAL), dtype, num_bits_per_copy=128", "LoadCacheMode.ALWAYS), dtype, num_bits_per_copy=32"
        ),
    ),
    in_kernel(
        "columns_of_the_mma",
        "Columns of C in the MMA's own order.",
        swap("stride=(1, 8, 32, 2, 32 * across)", "stride=(1, 2, 8, 8 * across, 32 * across)"),
    ),
    in_kernel("never_set", "Accumulators are never set.", without("tCrC.fill(0.0)")),
    m_major(
        "two_stages",
        "Two stages, whatever tuned() says.",
        swap("config = tuned()", "config = GemmConfig(tuned().tile, tuned().warps, 2)"),
        within="m_major_host",
    ),
    in_kernel("one_buffer", "Room for one stage.", swap("bK, config.stages)", "bK, 1)", times=2)),
    m_major(
        "one_tile_in_flight",
        "Waits for every group before it multiplies.",
        swap(WAIT, "wait_group(0)", times=2),
        swap("        if ahead < steps.k_tiles:\n            steps.load", "        if False:\n            steps.load"),
        swap("for k_tile in cutlass.range_constexpr(steps.stages - 1)", "for k_tile in cutlass.range_constexpr(1)"),
        swap(
            "read = (read + 1) % steps.stages\n",
            "read = (read + 1) % steps.stages\n                if k_tile + 1 < steps.k_tiles:\n"
            "                    steps.load(k_tile + 1, read)\n                cute.arch.cp_async_commit_group()\n",
        ),
        within="multistage",
    ),
    m_major(
        "a_needless_barrier",
        "Two barriers in each step.",
        swap("        write = read\n", "        write = read\n        cute.arch.sync_threads()\n"),
        within="multistage",
    ),
    m_major(
        "raster_order", "Tiles along rows.", swap(ORDER, "return block // across, block % across"), within="in_groups"
    ),
    in_kernel(
        "order_of_its_own",
        "Numbers its tiles along rows, and leaves in_groups alone.",
        swap("m, n = in_groups(block, *config.grid(*mC.shape))", "m, n = block // 2, block % 2"),
    ),
    m_major(
        "a_row_of_blocks", "One block for each row of tiles.", swap("rows * across", "rows"), within="m_major_host"
    ),
    in_host("compiles_each_time", "Keeps nothing.", swap("if shape not in KEPT:", "if True:")),
    in_host("key_without_k", "What it keeps forgets K.", swap("*c.shape, a.shape[1]", "tuple(c.shape)")),
    in_host(
        "called_directly",
        "Calls the @cute.jit function.",
        swap(CALL, "    m_major_host(*views)"),
        without("if shape not in KEPT", COMPILED),
    ),
    in_host("not_launched", "Compiles, and calls nothing.", without("KEPT[shape](*views)")),
    in_host("launched_twice", "Calls it twice.", swap(CALL, f"{CALL}\n{CALL}")),
    in_host(
        "first_tensors",
        "Keeps the first call's tensors, too.",
        swap(COMPILED, "KEPT[shape] = cute.compile(m_major_host, *views), views"),
        swap(CALL, "    function, views = KEPT[shape]\n    function(*views)"),
    ),
    in_host("not_aligned", "from_dlpack assumes the alignment of one element.", swap(VIEWS, "from_dlpack(x)")),
    in_host("dynamic", "Sizes are known at run time only.", swap(VIEWS, f"{VIEWS}.mark_layout_dynamic()")),
    in_host("copies_a", "Makes A row-major first.", swap("for x in (a, b, c)", "for x in (a.contiguous(), b, c)")),
    in_host("compiles_for_two", "Forgets C.", swap(COMPILED, "KEPT[shape] = cute.compile(m_major_host, *views[:2])")),
    in_host(
        "compiles_a_kernel",
        "Compiles the kernel itself.",
        swap(COMPILED, "KEPT[shape] = cute.compile(m_major_kernel, *views)"),
    ),
    in_host("raises", "Squeezes a matrix.", swap("*c.shape, a.shape[1]", "c.shape[2], a.shape[1]")),
    in_host("written_by_torch", "PyTorch's product over the kernel's.", swap(CALL, f"{CALL}\n    c.copy_(a @ b.mT)")),
    in_host("zeroed_by_torch", "Sets C to zero first.", swap(CALL, f"    c.zero_()\n{CALL}")),
    m_major(
        "launches_twice",
        "Two launches by the host function.",
        swap(
            "    m_major_kernel(",
            "    m_major_kernel(a, b, c, config).launch("
            "grid=(rows * across, 1, 1), block=(config.threads, 1, 1))\n    m_major_kernel(",
        ),
        within="m_major_host",
    ),
    m_major(
        "small_tiles_of_c",
        "Loads twice as much as tiles of 128×128 do.",
        swap("config = tuned()", "config = GemmConfig((64, 64, 32), (2, 2), 4)"),
        within="m_major_host",
    ),
    in_kernel(
        "every_product_twice",
        "Multiplies each K block twice, and halves the result.",
        swap(
            LOOP,
            INLINE.replace("share.multiply(k_block)", "share.multiply(k_block)\n            share.multiply(k_block)"),
        ),
        swap("tCrC.load()", "(tCrC.load() * 0.5)"),
    ),
    m_major(
        "loads_a_twice",
        "Each copy of A.",
        swap(LOAD, f"{LOAD}\n            if g is self.to_smem[0][1]:\n    {LOAD}"),
        within="Share",
    ),
    m_major(
        "loads_b_twice",
        "Each copy of B.",
        swap(LOAD, f"{LOAD}\n            if g is self.to_smem[1][1]:\n    {LOAD}"),
        within="Share",
    ),
    in_kernel(
        "fetches_again",
        "Fetches a tile's K blocks before it issues the next load, and again after it.",
        swap(
            LOOP,
            INLINE.replace(
                "        if k_tile +",
                "        for k_block in cutlass.range_constexpr(bK // 16):\n"
                "            share.fetch(k_block, k_tile % config.stages)\n        if k_tile +",
            ),
        ),
    ),
    m_major(
        "fetches_ahead_and_again",
        "Fetches a K block ahead, and once more before it is multiplied.",
        swap(AHEAD, f"{AHEAD}\n                steps.fetch(k_block, read)"),
        within="multistage",
    ),
    in_kernel("one_matrix_at_a_time", "ldmatrix.x1.", swap(LDMATRIX, "LdMatrix8x8x16bOp(transpose, 1)")),
    in_kernel(
        "b_without_ldmatrix",
        "Plain loads of B from shared memory.",
        swap(
            "    s2r_a, s2r_b =",
            "    plain = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype, num_bits_per_copy=32)\n"
            "    s2r_a, s2r_b =",
        ),
    ),
    derive(
        in_kernel(
            "b_through_registers",
            "Half of it.",
            swap(
                "    g2s_b = cute.make_tiled_copy_tv(cp_async,",
                "    plain = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype, num_bits_per_copy=128)\n"
                "    g2s_b = cute.make_tiled_copy_tv(plain,",
            ),
        ),
        "b_through_registers",
        "cp.async for A alone.",
        swap(
            LOAD,
            f"            if cutlass.const_expr(g is self.to_smem[0][1]):\n    {LOAD}\n            else:\n"
            "                r = cute.make_fragment_like(s[None, None, None, 0])\n"
            "                cute.copy(g2s, g[None, None, None, k_tile], r)\n"
            "                cute.copy(g2s, r, s[None, None, None, buffer])",
        ),
        within="Share",
    ),
    in_kernel(
        "stores_zeros_first",
        "Sets its tile of C to zero before it computes it.",
        swap(
            "tCrC.fill(0.0)",
            "tCrC.fill(0.0)\n    zeros = cute.make_fragment_like(tCgC)\n    zeros.fill(0.0)\n"
            "    cute.autovec_copy(zeros, tCgC)",
        ),
    ),
    staged("staged_in_one_bank", "C through shared memory, where two of its rows meet in a bank.", 8),
    in_kernel(
        "order_not_used",
        "Calls in_groups, and does without what it returns.",
        swap(
            "*config.grid(*mC.shape))",
            "*config.grid(*mC.shape))\n    m, n = block // (mC.shape[1] // bN), block % (mC.shape[1] // bN)",
        ),
    ),
    in_host(
        "key_of_sorted_sizes",
        "One kernel for M×N and N×M.",
        swap("*c.shape, a.shape[1]", "str(sorted((*c.shape, a.shape[1])))"),
    ),
    in_kernel(
        "no_barrier",
        "A loop of its own, without a barrier after the wait.",
        swap(LOOP, INLINE.replace("        cute.arch.sync_threads()\n", "")),
    ),
    in_kernel(
        "one_group_too_many",
        "A loop of its own, whose wait leaves the tile in flight that comes next.",
        swap(LOOP, INLINE.replace("stages - 2)", "stages - 1)")),
    ),
    in_kernel(
        "commits_inside_the_if",
        "A loop of its own, which commits no group at the end of K.",
        swap(
            LOOP,
            INLINE.replace(
                "% config.stages)\n        cute.arch.cp_async_commit_group()",
                "% config.stages)\n            cute.arch.cp_async_commit_group()",
            ),
        ),
    ),
    in_kernel(
        "shares_of_the_course",
        "The course's Steps.",
        swap(LOOP, "    multistage(Steps(k_tiles, *to_smem, *to_registers, mma, tCrC))"),
    ),
]

TAKES_A_CONFIG = m_major(
    "takes_a_config",
    "Half of config_as_an_argument.",
    swap("c: cute.Tensor):\n    config = tuned()", "c: cute.Tensor, config: cutlass.Constexpr):"),
    within="m_major_host",
)

RIGHT_WHOLE = [
    m_major(
        "own_loop",
        "A loop of its own, which waits at the start of a step and fetches no registers ahead.",
        swap(LOOP, INLINE),
        within="m_major_kernel",
    ),
    m_major(
        "three_of_64",
        "Three stages of 64 along K.",
        swap("config = tuned()", "config = GemmConfig((128, 128, 64), (2, 2), 3)"),
        within="m_major_host",
    ),
    m_major(
        "sixteen_along_m",
        "Sixteen threads side by side along M.",
        swap("cute.make_layout((8, config.threads // 8))", "cute.make_layout((16, config.threads // 16))"),
        within="m_major_kernel",
    ),
    derive(
        TAKES_A_CONFIG,
        "config_as_an_argument",
        "The configuration is an argument of the @cute.jit function.",
        swap(COMPILED, "KEPT[shape] = cute.compile(m_major_host, *views, tuned())"),
    ),
    derive(
        TAKES_A_CONFIG,
        "config_by_name",
        "The configuration is an argument by name.",
        swap(COMPILED, "KEPT[shape] = cute.compile(m_major_host, *views, config=tuned())"),
    ),
    m_major(
        "by_strides",
        "A nested dictionary, and views made only where they are needed.",
        swap("shape = *c.shape, a.shape[1]", "shape = str((a.stride(), b.shape, c.stride(), c.shape))"),
    ),
    derive(
        in_kernel(
            "padded",
            "Half of it.",
            swap(
                "swizzled(cute.make_layout((64, 8)), 3, (bM, bK, config.stages))",
                "cute.make_layout((bM, bK, config.stages), stride=(1, bM + 8, (bM + 8) * bK))",
            ),
            swap(
                "swizzled(atom_b, 3 if width == 64 else 2, (bN, bK, config.stages))",
                "cute.make_layout((bN, bK, config.stages), stride=(bK + 8, 1, (bK + 8) * bN))",
            ),
        ),
        "padded",
        "Rows of shared memory are padded, not swizzled.",
        of("GemmConfig((128, 128, 64), (2, 2), 3)"),
        within="m_major_host",
    ),
    staged("staged", "C through shared memory of its own, in whole rows.", 32),
    m_major(
        "loads_behind_the_first",
        "The appendix's loop: loads are issued behind the first multiplication.",
        swap(ISSUED, ""),
        swap(MULTIPLIED, BEHIND_THE_FIRST),
        within="multistage",
    ),
    m_major(
        "loads_without_an_if",
        "The same without an if: the last tile is loaded again.",
        swap(ISSUED, ""),
        swap(MULTIPLIED, WITHOUT_AN_IF),
        within="multistage",
    ),
    derive(
        m_major("persistent", "Half.", swap("grid=(rows * across, 1, 1)", "grid=(3, 1, 1)"), within="m_major_host"),
        "persistent",
        "Three blocks take all tiles in turn.",
        in_a_loop_over_tiles,
        within="m_major_kernel",
    ),
    m_major(
        "sixteen_warps",
        "A warp has 32×32 elements of C.",
        of("GemmConfig((128, 128, 64), (4, 4), 3)"),
        within="m_major_host",
    ),
]
