"""Notebook 06's softmax along rows, y = exp(x - max) / Σ exp(x - max), in fp32; x is (M, N)."""

import cuda.tile as ct

NEG_INF = ct.PaddingMode.NEG_INF


@ct.kernel
def one_tile(x, y, tile: ct.Constant[int]):
    """The row in one tile; tile ≥ N."""
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, tile), padding_mode=NEG_INF)
    e = ct.exp(row - ct.max(row))
    ct.store(y, (i, 0), e / ct.sum(e))


@ct.kernel
def several_rows(x, y, rows: ct.Constant[int], tile: ct.Constant[int]):
    """`rows` rows in one tile, a block for each; tile ≥ N."""
    i = ct.bid(0)
    part = ct.load(x, (i, 0), (rows, tile), padding_mode=NEG_INF)
    e = ct.exp(part - ct.max(part, 1, keepdims=True))
    ct.store(y, (i, 0), e / ct.sum(e, 1, keepdims=True))


@ct.kernel
def three_passes(x, y, tile: ct.Constant[int]):
    """Maximum, sum, results: a pass over the row for each."""
    i = ct.bid(0)
    tiles = ct.num_tiles(x, 1, (1, tile))
    largest = ct.full((1, 1), float("-inf"), ct.float32)
    for j in range(tiles):
        part = ct.load(x, (i, j), (1, tile), padding_mode=NEG_INF)
        largest = ct.maximum(largest, ct.max(part, 1, keepdims=True))
    total = ct.zeros((1, 1), ct.float32)
    for j in range(tiles):
        part = ct.load(x, (i, j), (1, tile), padding_mode=NEG_INF)
        total += ct.sum(ct.exp(part - largest), 1, keepdims=True)
    for j in range(tiles):
        part = ct.load(x, (i, j), (1, tile), padding_mode=NEG_INF)
        ct.store(y, (i, j), ct.exp(part - largest) / total)


@ct.kernel
def online(x, y, tile: ct.Constant[int]):
    """Maximum and sum in one pass (Milakov and Gimelshein, arXiv 1805.02867), results in another."""
    i = ct.bid(0)
    tiles = ct.num_tiles(x, 1, (1, tile))
    largest = ct.full((1, 1), float("-inf"), ct.float32)
    total = ct.zeros((1, 1), ct.float32)
    for j in range(tiles):
        part = ct.load(x, (i, j), (1, tile), padding_mode=NEG_INF)
        new = ct.maximum(largest, ct.max(part, 1, keepdims=True))
        total = total * ct.exp(largest - new) + ct.sum(ct.exp(part - new), 1, keepdims=True)
        largest = new
    for j in range(tiles):
        part = ct.load(x, (i, j), (1, tile), padding_mode=NEG_INF)
        ct.store(y, (i, j), ct.exp(part - largest) / total)
