"""cuTile kernels that are right in another way than the course's answers."""

import cuda.tile as ct

Const = ct.Constant


@ct.kernel
def persistent_add(a, b, c, tile: Const[int]):
    """Right: every block goes through the tiles in steps of the grid."""
    for i in range(ct.bid(0), ct.num_tiles(a, 0, (tile,)), ct.num_blocks(0)):
        ct.store(c, (i,), ct.load(a, (i,), (tile,)) + ct.load(b, (i,), (tile,)))


@ct.kernel
def gathering_add(a, b, c, tile: Const[int]):
    """Right: by index and without tile space."""
    place = ct.bid(0) * tile + ct.arange(tile, dtype=ct.int32)
    ct.scatter(c, place, ct.gather(a, place) + ct.gather(b, place))


@ct.kernel
def two_pass_softmax(x, y, tile: Const[int]):
    """Right: masks the padding by hand."""
    row = ct.load(x, (ct.bid(0), 0), (1, tile), padding_mode=ct.PaddingMode.ZERO)
    there = ct.arange(tile, dtype=ct.int32)[None, :] < x.shape[1]
    top = ct.max(ct.where(there, row, -float("inf")))
    e = ct.where(there, ct.exp(row - top), 0.0)
    ct.store(y, (ct.bid(0), 0), e / ct.sum(e))
