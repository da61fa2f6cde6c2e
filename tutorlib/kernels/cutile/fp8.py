"""Ways to multiply 320 rows in fp8 with cuTile, for a sweep: one accumulator for each tile of C, or two for a slab."""

import cuda.tile as ct

ZERO = ct.PaddingMode.ZERO


@ct.kernel
def tiled(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], fast: ct.Constant[bool]):
    """A block computes (tm, tn) tiles of C; those that read the same rows of B run side by side."""
    rows, columns = ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        m, n = tile % rows, tile // rows
        total = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.cdiv(a.shape[1], tk)):
            x = ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)
            y = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO)
            total = ct.mma(x, ct.transpose(y), total, use_fast_acc=fast)
        ct.store(c, (m, n), total.astype(c.dtype))


@ct.kernel
def slabs(
    a,
    b,
    c,
    tn: ct.Constant[int],
    tk: ct.Constant[int],
    runtime_zero: ct.Constant[bool],
    near: ct.Constant[int],
    far: ct.Constant[int],
    tma: ct.Constant[bool],
):
    """All of up to 320 rows at once: C's columns in slabs of tn, as Cᵀ, in accumulators for 256 and for 64 rows.

    runtime_zero: whether accumulators start from a zero that the compiler does not know; the grid has one dimension.
    near, far: latency hints, far for the tile of 256 rows; 0: none. tma: whether the stores go by TMA.
    """
    zero = ct.bid(1) if runtime_zero else 0
    near, far = near if near else None, far if far else None
    for n in range(ct.bid(0), ct.cdiv(b.shape[0], tn), ct.num_blocks(0)):
        upper, lower = ct.full((tn, 256), zero, ct.float32), ct.full((tn, 64), zero, ct.float32)
        for k in range(ct.cdiv(a.shape[1], tk)):
            slab = ct.load(b, (n, k), (tn, tk), padding_mode=ZERO, latency=near)
            first = ct.load(a, (0, k), (256, tk), padding_mode=ZERO, latency=far)
            rest = ct.load(a, (4, k), (64, tk), padding_mode=ZERO, latency=near)
            upper = ct.mma(slab, ct.transpose(first), upper, use_fast_acc=True)
            lower = ct.mma(slab, ct.transpose(rest), lower, use_fast_acc=True)
        ct.store(c, (0, n), ct.transpose(upper.astype(c.dtype)), allow_tma=tma)
        ct.store(c, (4, n), ct.transpose(lower.astype(c.dtype)), allow_tma=tma)


@ct.kernel
def straight_slabs(a, b, c, tn: ct.Constant[int], tk: ct.Constant[int], near: ct.Constant[int], far: ct.Constant[int]):
    """`slabs` with A as the first operand, so that C is not transposed, and the run-time zero."""
    zero = ct.bid(1)
    near, far = near if near else None, far if far else None
    for n in range(ct.bid(0), ct.cdiv(b.shape[0], tn), ct.num_blocks(0)):
        upper, lower = ct.full((256, tn), zero, ct.float32), ct.full((64, tn), zero, ct.float32)
        for k in range(ct.cdiv(a.shape[1], tk)):
            slab = ct.transpose(ct.load(b, (n, k), (tn, tk), padding_mode=ZERO, latency=near))
            first = ct.load(a, (0, k), (256, tk), padding_mode=ZERO, latency=far)
            rest = ct.load(a, (4, k), (64, tk), padding_mode=ZERO, latency=near)
            upper = ct.mma(first, slab, upper, use_fast_acc=True)
            lower = ct.mma(rest, slab, lower, use_fast_acc=True)
        ct.store(c, (0, n), upper.astype(c.dtype))
        ct.store(c, (4, n), lower.astype(c.dtype))
