"""Wrong answers to notebook 07. Kernels fail where they are interpreted, so no GPU is needed."""

import cuda.tile as ct

ZERO = ct.PaddingMode.ZERO


def kernel(function):
    """@ct.kernel, with the function's name and docstring kept for the test's report."""
    made = ct.kernel(function)
    made.__name__, made.__doc__ = function.__name__, function.__doc__
    return made


# 07.1 -------------------------------------------------------------------------------------------------------------


@kernel
def no_padding(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Adds up what stands beyond the end of K."""
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        total = ct.mma(ct.load(a, (m, k), (tm, tk)), ct.transpose(ct.load(b, (n, k), (tn, tk))), total)
    ct.store(c, (m, n), total.astype(c.dtype))


@kernel
def whole_steps_only(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Leaves out the last step where tk does not divide K."""
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(a.shape[1] // tk):
        x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        y = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(x, ct.transpose(y), total)
    ct.store(c, (m, n), total.astype(c.dtype))


@kernel
def steps_of_another_size(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Walks as far as A has rows, which is K for square matrices only."""
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[0], tk)):
        x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        y = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(x, ct.transpose(y), total)
    ct.store(c, (m, n), total.astype(c.dtype))


@kernel
def sums_in_bf16(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Rounds the sum to the output's dtype after every step."""
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        y = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(x, ct.transpose(y), total).astype(c.dtype).astype(ct.float32)
    ct.store(c, (m, n), total.astype(c.dtype))


@kernel
def wrong_row_of_b(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Takes row m of B's tiles instead of row n."""
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        y = ct.load(b, (m, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(x, ct.transpose(y), total)
    ct.store(c, (m, n), total.astype(c.dtype))


@kernel
def not_transposed(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Multiplies with B's tile as it lies, which has the wrong shape."""
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        total = ct.mma(x, ct.load(b, (n, k), (tn, tk), padding_mode=ZERO), total)
    ct.store(c, (m, n), total.astype(c.dtype))


@kernel
def elements_for_tiles(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Steps through K in elements: most of these tiles lie outside of the matrix."""
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(0, a.shape[1], tk):
        x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        y = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(x, ct.transpose(y), total)
    ct.store(c, (m, n), total.astype(c.dtype))


# 07.2 -------------------------------------------------------------------------------------------------------------


def raster(block, rows, columns, group):
    """Down the columns, without strips."""
    return block % rows, block // rows


def row_after_row(block, rows, columns, group):
    """Along the rows, without strips."""
    return block // columns, block % columns


def last_strip_is_full(block, rows, columns, group):
    """Takes the last strip for as high as the others: tiles outside of C."""
    strip, place = divmod(block, group * columns)
    return strip * group + place % group, place // group


def strip_along_its_rows(block, rows, columns, group):
    """Goes through a strip row by row, so neighbours share A and not B."""
    strip, place = divmod(block, group * columns)
    return strip * group + place // columns, place % columns


def number_of_strips(block, rows, columns, group):
    """Takes `group` for the number of strips."""
    height = -(-rows // group)
    strip, place = divmod(block, height * columns)
    return min(strip * height + place % height, rows - 1), place // height


def column_and_row(block, rows, columns, group):
    """Gives the column first."""
    strip, place = divmod(block, group * columns)
    height = min(group, rows - strip * group)
    return place // height, strip * group + place % height


# 07.3 -------------------------------------------------------------------------------------------------------------


def none_ever(tm, tn):
    """No hint for any tile."""
    return {}


def eight_warps_always(tm, tn):
    """Eight warps where four will do, and too few threads for the largest tile."""
    return {"num_worker_warps": 8}


def occupancy(tm, tn):
    """A hint that makes it worse: blocks that share an SM share its registers."""
    return {"occupancy": 2}


# 07.4 -------------------------------------------------------------------------------------------------------------


def in_order(block, rows, columns, group):
    return block % rows, block // rows


def tile_of_product(a, b, m, n, tm, tn, tk):
    total = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
        y = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
        total = ct.mma(x, ct.transpose(y), total)
    return total


@kernel
def one_tile_each(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], group: ct.Constant[int]):
    """A block stops after its first tile."""
    rows, columns = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)
    m, n = in_order(ct.bid(0), rows, columns, group)
    ct.store(c, (m, n), tile_of_product(a, b, m, n, tm, tn, tk).astype(c.dtype))


@kernel
def whole_rounds_only(
    a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], group: ct.Constant[int]
):
    """Leaves out the last round, in which only some of the blocks have a tile."""
    rows, columns = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)
    for turn in range(rows * columns // ct.num_blocks(0)):
        m, n = in_order(turn * ct.num_blocks(0) + ct.bid(0), rows, columns, group)
        ct.store(c, (m, n), tile_of_product(a, b, m, n, tm, tn, tk).astype(c.dtype))


@kernel
def everybody_does_everything(
    a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], group: ct.Constant[int]
):
    """Steps by one instead of by the number of blocks, and one tile too far."""
    rows, columns = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)
    for tile in range(ct.bid(0), rows * columns + 1):
        m, n = in_order(tile, rows, columns, group)
        ct.store(c, (m, n), tile_of_product(a, b, m, n, tm, tn, tk).astype(c.dtype))


@kernel
def sum_goes_on(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], group: ct.Constant[int]):
    """Does not start the sum anew for the next tile."""
    rows, columns = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)
    total = ct.zeros((tm, tn), ct.float32)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        m, n = in_order(tile, rows, columns, group)
        for k in range(ct.cdiv(a.shape[1], tk)):
            x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
            y = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
            total = ct.mma(x, ct.transpose(y), total)
        ct.store(c, (m, n), total.astype(c.dtype))


# 07.5 -------------------------------------------------------------------------------------------------------------


def registers_only(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Leaves shared memory out of account."""
    return tm * tn * occupancy <= num_ctas * warps * 32 * 128


def shared_memory_only(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Leaves the accumulators out of account."""
    return 2 * occupancy * (tm + tn) * tk * element_bytes <= num_ctas * 227 * 1024


def one_stage(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Asks for room for a single stage."""
    room = occupancy * (tm + tn) * tk * element_bytes <= num_ctas * 227 * 1024
    return room and tm * tn * occupancy <= num_ctas * warps * 32 * 128


def bf16_always(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Takes every element for two bytes."""
    room = 2 * occupancy * (tm + tn) * tk * 2 <= num_ctas * 227 * 1024
    return room and tm * tn * occupancy <= num_ctas * warps * 32 * 128


def tile_of_c_in_shared_memory(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Counts the accumulators into shared memory."""
    room = occupancy * (2 * (tm + tn) * tk * element_bytes + tm * tn * 4) <= num_ctas * 227 * 1024
    return room and tm * tn * occupancy <= num_ctas * warps * 32 * 128


def says_nothing(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Returns None."""


# 07.6 -------------------------------------------------------------------------------------------------------------


def through(dtype, says):
    """A GEMM whose tiles are cast to this dtype on their way in."""

    def cast(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], group: ct.Constant[int]):
        rows, columns = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)
        for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
            m, n = in_order(tile, rows, columns, group)
            total = ct.zeros((tm, tn), ct.float32)
            for k in range(ct.cdiv(a.shape[1], tk)):
                x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO).astype(dtype)
                y = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO).astype(dtype)
                total = ct.mma(x, ct.transpose(y), total)
            ct.store(c, (m, n), total.astype(c.dtype))

    cast.__name__, cast.__doc__ = f"through_{dtype.name}", says
    return kernel(cast)


through_fp32 = through(ct.float32, "Leaves fp32 as it is: right, and without tensor cores.")
through_bf16 = through(ct.bfloat16, "Loses three bits more than tf32 does.")

# 07.7 -------------------------------------------------------------------------------------------------------------


@kernel
def first_256_rows(a, b, c, tn: ct.Constant[int], tk: ct.Constant[int]):
    """Has only one of the two accumulators."""
    for n in range(ct.bid(0), ct.cdiv(b.shape[0], tn), ct.num_blocks(0)):
        upper = ct.zeros((tn, 256), ct.float32)
        for k in range(ct.cdiv(a.shape[1], tk)):
            slab = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
            first = ct.load(a, (0, k), (256, tk), padding_mode=ZERO)
            upper = ct.mma(slab, ct.transpose(first), upper, use_fast_acc=True)
        ct.store(c, (0, n), ct.transpose(upper.astype(c.dtype)))


@kernel
def tile_1_of_64(a, b, c, tn: ct.Constant[int], tk: ct.Constant[int]):
    """Counts the second tile of A in tiles of 256: it fetches rows 64 to 127."""
    for n in range(ct.bid(0), ct.cdiv(b.shape[0], tn), ct.num_blocks(0)):
        upper, lower = ct.zeros((tn, 256), ct.float32), ct.zeros((tn, 64), ct.float32)
        for k in range(ct.cdiv(a.shape[1], tk)):
            slab = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
            first = ct.load(a, (0, k), (256, tk), padding_mode=ZERO)
            rest = ct.load(a, (1, k), (64, tk), padding_mode=ZERO)
            upper = ct.mma(slab, ct.transpose(first), upper, use_fast_acc=True)
            lower = ct.mma(slab, ct.transpose(rest), lower, use_fast_acc=True)
        ct.store(c, (0, n), ct.transpose(upper.astype(c.dtype)))
        ct.store(c, (4, n), ct.transpose(lower.astype(c.dtype)))


@kernel
def still_transposed(a, b, c, tn: ct.Constant[int], tk: ct.Constant[int]):
    """Stores tiles of C transposed as if they were not: the shapes fit, since a store takes any."""
    for n in range(ct.bid(0), ct.cdiv(b.shape[0], tn), ct.num_blocks(0)):
        upper, lower = ct.zeros((tn, 256), ct.float32), ct.zeros((tn, 64), ct.float32)
        for k in range(ct.cdiv(a.shape[1], tk)):
            slab = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
            first = ct.load(a, (0, k), (256, tk), padding_mode=ZERO)
            rest = ct.load(a, (4, k), (64, tk), padding_mode=ZERO)
            upper = ct.mma(slab, ct.transpose(first), upper, use_fast_acc=True)
            lower = ct.mma(slab, ct.transpose(rest), lower, use_fast_acc=True)
        ct.store(c, (0, n), ct.reshape(upper.astype(c.dtype), (256, tn)))
        ct.store(c, (4, n), ct.reshape(lower.astype(c.dtype), (64, tn)))


WRONG = {
    "07.1": [
        no_padding,
        whole_steps_only,
        steps_of_another_size,
        sums_in_bf16,
        wrong_row_of_b,
        not_transposed,
        elements_for_tiles,
    ],
    "07.2": [
        raster,
        row_after_row,
        last_strip_is_full,
        strip_along_its_rows,
        number_of_strips,
        column_and_row,
    ],
    "07.3": [none_ever, eight_warps_always, occupancy],
    "07.4": [one_tile_each, whole_rounds_only, everybody_does_everything, sum_goes_on],
    "07.5": [
        registers_only,
        shared_memory_only,
        one_stage,
        bf16_always,
        tile_of_c_in_shared_memory,
        says_nothing,
    ],
    "07.6": [through_fp32, through_bf16],
    "07.7": [first_256_rows, tile_1_of_64, still_transposed],
}
