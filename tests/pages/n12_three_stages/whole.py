"""Wrong and unusual answers to 12.4 and 12.6, the whole kernels of notebook 12."""

from tests.pages.change import derive, swap, without
from tutorlib.course.answers import load_answers

ANSWERS = load_answers("12_three_stages")
WAIT = "wait_group(steps.stages - 2)"
ORDER = "return l2.grouped(block, rows, across, 8 if rows > 32 else rows)"
TUNED = "GemmConfig(tile=(128, 256, 32), warps=(2, 4), stages=4)"

# 12.4 -----------------------------------------------------------------------------------------------------------

MADE = "make_gemm(tuned(), multistage, in_groups)(a, b, c)"
KEEP = swap("@cute.jit", "CONFIG = tuned()\n\n\n@cute.jit")


def rung(name: str, what: str, within: str, *changes):
    return derive(ANSWERS["12.4"], name, what, *changes, within=within)


def made_of(config: str, rest: str = "multistage, in_groups", call: str = "(a, b, c)"):
    return swap(MADE, f"make_gemm({config}, {rest}){call}")


RUNGS = [
    rung(
        "three_stages",
        "Three stages of a smaller tile, whatever tuned() says.",
        "my_gemm",
        made_of("GemmConfig((128, 128, 32), (2, 2), 3)"),
    ),
    rung(
        "same_threads_and_bytes",
        "As many threads and as much shared memory as tuned() has, of another tile.",
        "my_gemm",
        made_of("GemmConfig((256, 128, 32), (4, 2), 4)"),
    ),
    rung(
        "same_configuration",
        "What tuned() returns, written down again.",
        "my_gemm",
        made_of(TUNED),
    ),
    rung(
        "stages_of_its_own",
        "Takes the tile and the threads from tuned(), and always three stages.",
        "my_gemm",
        made_of("GemmConfig(tuned().tile, tuned().warps, 3)"),
    ),
    rung(
        "default_order",
        "Leaves out the order: down one column of tiles after the other.",
        "my_gemm",
        made_of("tuned()", "multistage"),
    ),
    rung(
        "kept_in_raster_order",
        "Keeps tuned()'s configuration in a variable, and leaves out the order.",
        "my_gemm",
        KEEP,
        made_of("CONFIG", "multistage"),
    ),
    rung(
        "raster_order",
        "Tiles along rows.",
        "in_groups",
        swap(ORDER, "return block // across, block % across"),
    ),
    rung(
        "rows_of_8",
        "Every group has 8 rows, also the last.",
        "my_gemm",
        made_of("tuned()", "multistage, lambda block, rows, across: l2.grouped(block, rows, across, 4)"),
    ),
    rung("one_tile", "Every block computes the same.", "in_groups", swap(ORDER, "return 0 * block, 0 * block")),
    rung("not_called", "Makes the host function, and does not call it.", "my_gemm", made_of("tuned()", call="")),
    rung(
        "exchanged",
        "B for A.",
        "my_gemm",
        made_of("tuned()", call="(b, a, c)"),
    ),
    rung(
        "loop_of_the_course",
        "The course's loop.",
        "my_gemm",
        made_of("tuned()", "course.multistage, in_groups"),
    ),
    rung(
        "one_buffer_loop",
        "Page 09's loop.",
        "my_gemm",
        made_of("tuned()", "course.single_buffer, in_groups"),
    ),
    rung(
        "nothing_in_flight",
        "Waits for every group: one tile at a time.",
        "multistage",
        swap(WAIT, "wait_group(0)", times=2),
        swap(
            "        ahead = k_tile + steps.stages - 1\n        if ahead < steps.k_tiles:\n"
            "            steps.load(ahead, write)\n        cute.arch.cp_async_commit_group()\n        write = read\n",
            "        ahead = k_tile + steps.stages - 1\n        if ahead < steps.k_tiles:\n"
            "            steps.load(ahead, write)\n        cute.arch.cp_async_commit_group()\n"
            "        cute.arch.cp_async_wait_group(0)\n        write = read\n",
        ),
    ),
    rung(
        "a_needless_barrier",
        "Two barriers in each step.",
        "multistage",
        swap("        write = read\n", "        write = read\n        cute.arch.sync_threads()\n"),
    ),
]

RIGHT_RUNGS = [
    derive(
        ANSWERS["12.4"],
        "smaller_tile",
        "Three stages of a smaller tile.",
        swap(TUNED, "GemmConfig((128, 128, 32), (2, 2), 3)"),
        within="tuned",
    ),
    derive(
        ANSWERS["12.4"],
        "spelled_out",
        "Takes the configuration apart and puts it together again.",
        made_of("GemmConfig(tile=tuned().tile, warps=tuned().warps, stages=tuned().stages)"),
    ),
    derive(
        ANSWERS["12.4"],
        "kept_in_a_variable",
        "Calls tuned() once, and keeps the configuration.",
        KEEP,
        made_of("CONFIG"),
    ),
    derive(
        ANSWERS["12.4"],
        "strips_of_columns",
        "Groups of columns in place of rows.",
        swap(ORDER, "return l2.grouped(block, across, rows, 8)[::-1]"),
        within="in_groups",
    ),
    derive(
        ANSWERS["12.4"],
        "in_steps",
        "Keeps the host function in a variable.",
        swap(MADE, "host = make_gemm(config=tuned(), main_loop=multistage, order=in_groups)\n    host(a, b, c)"),
    ),
]

# 12.6 -----------------------------------------------------------------------------------------------------------


def m_major(name: str, what: str, within: str, *changes):
    return derive(ANSWERS["12.6"], name, what, *changes, within=within)


HOST = "gemm_m_major"
KERNEL = "m_major_kernel"
CALL = "    KEPT[shape](*views)"
COMPILED = "KEPT[shape] = cute.compile(m_major_host, *views)"
VIEWS = "from_dlpack(x, assumed_align=16)"
LOOP = "    multistage(Share(k_tiles, config.stages, bK // 16, to_smem, to_registers, mma, tCrA, tCrB, tCrC))"

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


WHOLE = [
    m_major(
        "no_trans",
        "ldmatrix without transpose for both.",
        KERNEL,
        swap("for transpose in (False, True)", "for transpose in (False, False)"),
    ),
    m_major(
        "trans_for_b",
        "Transposes B, and not A.",
        KERNEL,
        swap("plain, trans = (", "trans, plain = ("),
    ),
    m_major(
        "a_not_swizzled",
        "A in shared memory as it comes.",
        KERNEL,
        swap("swizzled(cute.make_layout((64, 8)), 3,", "swizzled(cute.make_layout((64, 8)), 0,"),
    ),
    m_major(
        "b_not_swizzled",
        "B in shared memory as it comes.",
        KERNEL,
        swap("3 if width == 64 else 2", "0"),
    ),
    m_major(
        "threads_along_k",
        "Neighboring threads copy A along K.",
        KERNEL,
        swap(
            "cute.make_layout((8, config.threads // 8))",
            "cute.make_layout((8, config.threads // 8), stride=(config.threads // 8, 1))",
        ),
    ),
    m_major(
        "values_along_k",
        "A's vectors run along K, as page 09's do.",
        KERNEL,
        swap("along_m, cute.make_layout((8, 1))", "along_m, cute.make_layout((1, 8))"),
    ),
    m_major(
        "four_bytes",
        "cp.async of 4 bytes.",
        KERNEL,
        swap(
            "LoadCacheMode.GLOBAL), dtype, num_bits_per_copy=128", "LoadCacheMode.ALWAYS), dtype, num_bits_per_copy=32"
        ),
    ),
    m_major(
        "columns_of_the_mma",
        "Columns of C in the MMA's own order.",
        KERNEL,
        swap("stride=(1, 8, 32, 2, 32 * across)", "stride=(1, 2, 8, 8 * across, 32 * across)"),
    ),
    m_major("never_set", "Accumulators are never set.", KERNEL, without("tCrC.fill(0.0)")),
    m_major(
        "two_stages",
        "Two stages, whatever tuned() says.",
        "m_major_host",
        swap("config = tuned()", "config = GemmConfig(tuned().tile, tuned().warps, 2)"),
    ),
    m_major(
        "one_buffer",
        "Room for one stage.",
        KERNEL,
        swap("bK, config.stages)", "bK, 1)", times=2),
    ),
    m_major(
        "one_tile_in_flight",
        "Waits for every group before it multiplies.",
        "multistage",
        swap(WAIT, "wait_group(0)", times=2),
        swap("        if ahead < steps.k_tiles:\n            steps.load", "        if False:\n            steps.load"),
        swap("for k_tile in cutlass.range_constexpr(steps.stages - 1)", "for k_tile in cutlass.range_constexpr(1)"),
        swap(
            "read = (read + 1) % steps.stages\n",
            "read = (read + 1) % steps.stages\n                if k_tile + 1 < steps.k_tiles:\n"
            "                    steps.load(k_tile + 1, read)\n                cute.arch.cp_async_commit_group()\n",
        ),
    ),
    m_major(
        "a_needless_barrier",
        "Two barriers in each step.",
        "multistage",
        swap("        write = read\n", "        write = read\n        cute.arch.sync_threads()\n"),
    ),
    m_major(
        "raster_order",
        "Tiles along rows.",
        "in_groups",
        swap(ORDER, "return block // across, block % across"),
    ),
    m_major(
        "order_of_its_own",
        "Numbers its tiles along rows, and leaves in_groups alone.",
        KERNEL,
        swap("m, n = in_groups(block, *config.grid(*mC.shape))", "m, n = block // 2, block % 2"),
    ),
    m_major(
        "a_row_of_blocks",
        "One block for each row of tiles.",
        "m_major_host",
        swap("rows * across", "rows"),
    ),
    m_major(
        "compiles_each_time",
        "Keeps nothing.",
        HOST,
        swap("if shape not in KEPT:", "if True:"),
    ),
    m_major(
        "key_without_k",
        "What it keeps forgets K.",
        HOST,
        swap("*c.shape, a.shape[1]", "tuple(c.shape)"),
    ),
    m_major(
        "called_directly",
        "Calls the @cute.jit function.",
        HOST,
        swap(CALL, "    m_major_host(*views)"),
        without("if shape not in KEPT", COMPILED),
    ),
    m_major(
        "not_launched",
        "Compiles, and calls nothing.",
        HOST,
        without("KEPT[shape](*views)"),
    ),
    m_major(
        "launched_twice",
        "Calls it twice.",
        HOST,
        swap(CALL, f"{CALL}\n{CALL}"),
    ),
    m_major(
        "first_tensors",
        "Keeps the first call's tensors, too.",
        HOST,
        swap(COMPILED, "KEPT[shape] = cute.compile(m_major_host, *views), views"),
        swap(CALL, "    function, views = KEPT[shape]\n    function(*views)"),
    ),
    m_major(
        "not_aligned",
        "from_dlpack assumes the alignment of one element.",
        HOST,
        swap(VIEWS, "from_dlpack(x)"),
    ),
    m_major(
        "dynamic",
        "Sizes are known at run time only.",
        HOST,
        swap(VIEWS, f"{VIEWS}.mark_layout_dynamic()"),
    ),
    m_major(
        "copies_a",
        "Makes A row-major first.",
        HOST,
        swap("for x in (a, b, c)", "for x in (a.contiguous(), b, c)"),
    ),
    m_major(
        "compiles_for_two",
        "Forgets C.",
        HOST,
        swap(COMPILED, "KEPT[shape] = cute.compile(m_major_host, *views[:2])"),
    ),
    m_major(
        "compiles_a_kernel",
        "Compiles the kernel itself.",
        HOST,
        swap(COMPILED, "KEPT[shape] = cute.compile(m_major_kernel, *views)"),
    ),
    m_major("raises", "Squeezes a matrix.", HOST, swap("*c.shape, a.shape[1]", "c.shape[2], a.shape[1]")),
    m_major(
        "no_barrier",
        "A loop of its own, without a barrier after the wait.",
        KERNEL,
        swap(LOOP, INLINE.replace("        cute.arch.sync_threads()\n", "")),
    ),
    m_major(
        "one_group_too_many",
        "A loop of its own, whose wait leaves the tile in flight that comes next.",
        KERNEL,
        swap(LOOP, INLINE.replace("stages - 2)", "stages - 1)")),
    ),
    m_major(
        "commits_inside_the_if",
        "A loop of its own, which commits no group at the end of K.",
        KERNEL,
        swap(
            LOOP,
            INLINE.replace(
                "% config.stages)\n        cute.arch.cp_async_commit_group()",
                "% config.stages)\n            cute.arch.cp_async_commit_group()",
            ),
        ),
    ),
    m_major(
        "shares_of_the_course",
        "The course's Steps.",
        KERNEL,
        swap(
            LOOP,
            "    multistage(Steps(k_tiles, *to_smem, *to_registers, mma, tCrC))",
        ),
    ),
]

TAKES_A_CONFIG = derive(
    ANSWERS["12.6"],
    "takes_a_config",
    "Half of config_as_an_argument.",
    swap("c: cute.Tensor):\n    config = tuned()", "c: cute.Tensor, config: cutlass.Constexpr):"),
    within="m_major_host",
)

RIGHT_WHOLE = [
    derive(
        ANSWERS["12.6"],
        "own_loop",
        "A loop of its own, which waits at the start of a step and fetches no registers ahead.",
        swap(LOOP, INLINE),
        within=KERNEL,
    ),
    derive(
        ANSWERS["12.6"],
        "three_of_64",
        "Three stages of 64 along K.",
        swap("config = tuned()", "config = GemmConfig((128, 128, 64), (2, 2), 3)"),
        within="m_major_host",
    ),
    derive(
        ANSWERS["12.6"],
        "sixteen_along_m",
        "Sixteen threads side by side along M.",
        swap("cute.make_layout((8, config.threads // 8))", "cute.make_layout((16, config.threads // 16))"),
        within=KERNEL,
    ),
    derive(
        TAKES_A_CONFIG,
        "config_as_an_argument",
        "The configuration is an argument of the @cute.jit function.",
        swap(COMPILED, "KEPT[shape] = cute.compile(m_major_host, *views, tuned())"),
    ),
    derive(
        ANSWERS["12.6"],
        "by_strides",
        "A nested dictionary, and views made only where they are needed.",
        swap("shape = *c.shape, a.shape[1]", "shape = str((a.stride(), b.shape, c.stride(), c.shape))"),
    ),
]
