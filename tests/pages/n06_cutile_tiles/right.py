"""Unusual right answers to notebook 06."""

import itertools
import math

import cuda.tile as ct
import numpy as np
import torch

from tests.pages.change import swap, without
from tests.pages.n06_cutile_tiles.cutile_tiles import SOFTMAX, add, long, scale, softmax, sums


def a_torch_size(x, y):
    """A shape as torch has it."""
    sizes = by_sets(x, y)
    return None if sizes is None else torch.Size(sizes)


def by_recursion(x, y):
    """One size at a time, from the right."""
    if not x or not y:
        return x or y
    last = (max(x[-1], y[-1]),) if 1 in (x[-1], y[-1]) or x[-1] == y[-1] else None
    rest = by_recursion(x[:-1], y[:-1])
    return None if last is None or rest is None else rest + last


def by_numpy_numbers(x, y):
    """Sizes are NumPy's integers."""
    pairs = np.array(list(itertools.zip_longest(reversed(x), reversed(y), fillvalue=1)), dtype=int).reshape(-1, 2)
    fit = (pairs[:, 0] == pairs[:, 1]) | (pairs == 1).any(1)
    return tuple(pairs.max(1)[::-1]) if fit.all() else None


def by_sets(x, y):
    """The sizes other than 1 of each axis, as a set."""
    axes = [{*pair} - {1} for pair in itertools.zip_longest(reversed(x), reversed(y), fillvalue=1)]
    return None if any(len(sizes) > 1 for sizes in axes) else [max(sizes, default=1) for sizes in reversed(axes)]


def by_logarithm(x, y):
    """The width by a logarithm, and a grid of three sizes."""
    tile = 2 ** math.ceil(math.log2(x.shape[1]))
    ct.launch(torch.cuda.current_stream(x.device), (x.shape[0], 1, 1), SOFTMAX, (x, y, tile))


def by_doubling(x, y):
    """The width by a loop."""
    tile = 1
    while tile < x.size(1):
        tile *= 2
    ct.launch(torch.cuda.current_stream(), (x.size(0),), SOFTMAX, (x, y, tile))


def waits_for_it(x, y):
    """The stream's raw handle, and a wait for the GPU at the end."""
    width = 1 << (x.shape[-1] - 1).bit_length()
    ct.launch(torch.cuda.current_stream().cuda_stream, (x.shape[0],), SOFTMAX, (x, y, width))
    torch.cuda.synchronize()


def on_xs_device(x, y):
    """For a machine with several GPUs."""
    mantissa, exponent = math.frexp(x.shape[1])
    stream = torch.cuda.current_stream(x.device)
    with torch.cuda.device(x.device), torch.cuda.stream(stream):
        ct.launch(stream, (len(x), 1), SOFTMAX, (x.detach(), y[:], 2 ** (exponent - (mantissa == 0.5))))
    return y


RIGHT = {
    "06.1": [
        add(
            "in_one_line",
            "No names.",
            without("ta = ", "tb = "),
            swap("ct.store(c, (i,), ta + tb)", "ct.store(c, i, ct.load(b, i, tile) + ct.load(a, (i,), (tile,)))"),
        ),
        add(
            "by_gathering",
            "Elements by their own index, without tile space.",
            without("ta = ", "tb = "),
            swap(
                "ct.store(c, (i,), ta + tb)",
                "at = i * tile + ct.arange(tile, dtype=ct.int32)\n    ct.scatter(c, at, ct.gather(a, at) + ct.gather(b, at))",
            ),
        ),
        add(
            "last_block_first",
            "The first block has the last tile.",
            swap("ct.bid(0)", "ct.num_blocks(0) - 1 - ct.bid(0)"),
        ),
        add("by_a_view", "A view cut into tiles.", swap("ct.load(a, (i,), (tile,))", "a.tiled_view(tile).load(i)")),
        add(
            "a_grid_of_workers",
            "Would also do with fewer blocks than tiles.",
            without("ta = ", "tb = "),
            swap(
                "ct.store(c, (i,), ta + tb)",
                "for j in range(i, ct.num_tiles(a, 0, (tile,)), ct.num_blocks(0)):\n"
                "        ct.store(c, (j,), ct.load(a, (j,), (tile,)) + ct.load(b, (j,), (tile,)))",
            ),
        ),
    ],
    "06.2": [by_recursion, by_numpy_numbers, by_sets, a_torch_size],
    "06.3": [
        scale("reshaped", "A reshape in place of None.", swap("scale[:, None]", "ct.reshape(scale, (tm, 1))")),
        scale(
            "expanded",
            "expand_dims, and the scale first.",
            swap("tile * scale[:, None]", "ct.expand_dims(scale, 1) * tile"),
        ),
        scale(
            "turned",
            "Turns the tile, so that the scales are at its right end.",
            swap("tile * scale[:, None]", "ct.transpose(ct.transpose(tile) * scale)"),
        ),
        scale(
            "gathered",
            "Gathers a column of scales.",
            without("scale = "),
            swap("scale[:, None]", "ct.gather(s, (i * tm + ct.arange(tm, dtype=ct.int32))[:, None])"),
        ),
        scale("padded", "Pads, which nothing needs.", swap("(tm,))", "(tm,), padding_mode=ct.PaddingMode.NAN)")),
    ],
    "06.4": [
        sums(
            "one_sum_at_the_end",
            "Adds whole tiles, and along the axis once.",
            swap("ct.zeros((tm,)", "ct.zeros((tm, tn)"),
            swap("ct.sum(tile.astype(ct.float32), 1)", "tile.astype(ct.float32)"),
            swap("(i,), total)", "(i,), ct.sum(total, 1))"),
        ),
        sums("by_cdiv", "Counts the steps itself.", swap("ct.num_tiles(x, 1, (tm, tn))", "ct.cdiv(x.shape[1], tn)")),
        sums(
            "masked",
            "Masks by hand what hangs over.",
            swap(", padding_mode=ct.PaddingMode.ZERO", ""),
            swap(
                "tile.astype(ct.float32)",
                "ct.where((j * tn + ct.arange(tn, dtype=ct.int32) < x.shape[1])[None, :], tile.astype(ct.float32), 0.0)",
            ),
        ),
    ],
    "06.5": [
        softmax(
            "through_exp2",
            "exp2 with log2(e).",
            swap("ct.exp(row - ct.max(row))", "ct.exp2((row - ct.max(row)) * 1.4426950408889634)"),
        ),
        softmax(
            "by_the_logarithm",
            "Subtracts the logarithm of the sum.",
            swap("e / ct.sum(e)", "ct.exp(row - ct.max(row) - ct.log(ct.sum(e)))"),
        ),
        softmax(
            "along_the_axis",
            "Maximum and sum keep their axis.",
            swap("ct.max(row)", "ct.max(row, 1, keepdims=True)"),
            swap("ct.sum(e)", "ct.sum(e, 1, keepdims=True)"),
        ),
        softmax(
            "masked",
            "Pads with zeros and masks by hand.",
            swap(
                "NEG_INF)",
                "ZERO)\n    row = ct.where((ct.arange(tile, dtype=ct.int32) < x.shape[1])[None, :], row, -float('inf'))",
            ),
        ),
    ],
    "06.6": [by_logarithm, by_doubling, waits_for_it, on_xs_device],
    "06.7": [
        long(
            "through_exp2",
            "exp2 with log2(e) in both loops.",
            swap("ct.exp(part - new)", "ct.exp2((part - new) * 1.4426950408889634)"),
            swap("ct.exp(part - largest)", "ct.exp2((part - largest) * 1.4426950408889634)"),
        ),
        long(
            "lane_by_lane",
            "A maximum and a sum for each column of the tile, which meet after the first loop.",
            swap('ct.full((1, 1), float("-inf")', "ct.full((1, tile), -3.0e38"),
            swap("ct.zeros((1, 1)", "ct.zeros((1, tile)"),
            swap("ct.maximum(largest, ct.max(part, 1, keepdims=True))", "ct.maximum(largest, part)"),
            swap("ct.sum(ct.exp(part - new), 1, keepdims=True)", "ct.exp(part - new)"),
            swap(
                "        largest = new\n",
                "        largest = new\n    row = ct.max(largest)\n    total = ct.sum(total * ct.exp(largest - row))\n"
                "    largest = row\n",
            ),
        ),
        long(
            "by_the_reciprocal",
            "One division, then products.",
            swap(
                "    for j in range(ct.num_tiles(x, 1, (1, tile))):\n        part = ct.load(x, (i, j), (1, tile), "
                "padding_mode=ct.PaddingMode.NEG_INF)\n        ct.store",
                "    total = 1.0 / total\n    for j in range("
                "ct.num_tiles(x, 1, (1, tile))):\n        part = ct.load(x, (i, j), (1, tile))\n        ct.store",
            ),
            swap("ct.exp(part - largest) / total", "ct.exp(part - largest) * total"),
        ),
        long("from_the_lowest", "Starts from the lowest number.", swap('float("-inf")', "-3.0e38")),
        long(
            "rescaled_where_it_grew",
            "Keeps the sum where the maximum stays.",
            swap("total * ct.exp(largest - new)", "ct.where(new > largest, total * ct.exp(largest - new), total)"),
        ),
        long(
            "backwards",
            "The second pass from the last tile to the first, which the caches like.",
            swap(
                "(i, j), (1, tile), padding_mode=ct.PaddingMode.NEG_INF)\n        ct.store(y, (i, j)",
                "(i, ct.num_tiles(x, 1, (1, tile)) - 1 - j), (1, tile))\n"
                "        ct.store(y, (i, ct.num_tiles(x, 1, (1, tile)) - 1 - j)",
            ),
        ),
    ],
}
