"""Unusual right answers to notebook 07."""

import math

import cuda.tile as ct
import numpy as np
import torch

from tests.pages.change import derive, swap
from tests.pages.n07_cutile_gemm.cutile_gemms import FP8, GEMM, PARTS, PERSISTENT, TF32
from tests.pages.n07_cutile_gemm.wrong_split_k import ADD_PARTS, split
from tests.pages.table import answer


def by_divmod(block, rows, columns, group):
    """divmod, and a conditional in place of min."""
    strip, place = divmod(block, group * columns)
    height = group if (strip + 1) * group <= rows else rows - strip * group
    column, row = divmod(place, height)
    return strip * group + row, column


def upwards(block, rows, columns, group):
    """Goes up each column of a strip, not down."""
    m, n = by_divmod(block, rows, columns, group)
    first = m // group * group
    return first + min(first + group, rows) - 1 - m, n


def strip_by_strip(block, rows, columns, group):
    """Searches for the strip, and returns early from one that is whole."""
    strip = 0
    while block >= group * columns:
        block -= group * columns
        strip += 1
    if (strip + 1) * group <= rows:
        return strip * group + block % group, block // group
    height = rows - strip * group
    return strip * group + block % height, block // height


def by_steps(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Whole numbers, and an early return."""
    if tm * tn * occupancy > 128 * 32 * num_ctas * warps:
        return False
    return 2 * occupancy * (tm + tn) * tk * element_bytes <= 227 * 1024 * num_ctas


def by_numpy(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """NumPy's truth value."""
    use = np.array(
        [tm * tn * occupancy / (num_ctas * warps * 32), 2 * occupancy * (tm + tn) * tk * element_bytes / num_ctas]
    )
    return np.all(use <= (128, 227 * 1024))


def most_that_fit(tm, tn, tk, element_bytes, num_ctas, warps, occupancy):
    """Asks how many blocks fit, and compares."""
    by_registers = 128 * num_ctas * warps * 32 // (tm * tn)
    by_memory = 227 * 1024 * num_ctas // (2 * (tm + tn) * tk * element_bytes)
    return min(by_registers, by_memory) >= occupancy


def in_place_where_it_can(a, b, c):
    """One part goes through a kernel of its own, without parts."""
    rows, columns = math.ceil(c.shape[0] / 128), math.ceil(c.shape[1] / 128)
    sms = torch.cuda.get_device_properties(a.device).multi_processor_count
    if rows * columns >= sms:
        ct.launch(torch.cuda.current_stream(), (rows, columns), GEMM, (a, b, c, 128, 128, 64))
    else:
        split()(a, b, c)


def into_new_memory(a, b, c):
    """Memory from a.new_empty, and other tiles for the second pass."""
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    n = min(max(1, sms // (ct.cdiv(c.shape[0], 128) * ct.cdiv(c.shape[1], 128))), ct.cdiv(a.shape[1], 64))
    parts = a.new_empty((n, *c.shape), dtype=torch.float32)
    stream = torch.cuda.current_stream(a.device)
    ct.launch(stream, (ct.cdiv(c.shape[0], 128), ct.cdiv(c.shape[1], 128), n), PARTS, (a, b, parts, 128, 128, 64))
    ct.launch(stream, (ct.cdiv(c.shape[0], 32), ct.cdiv(c.shape[1], 64), 1), ADD_PARTS, (parts, c, 32, 64))


RIGHT = {
    "07.1": [
        derive(
            GEMM,
            "by_num_tiles",
            "num_tiles counts the steps.",
            swap("ct.cdiv(a.shape[1], tk)", "ct.num_tiles(a, 1, (tm, tk))"),
        ),
        derive(
            GEMM,
            "b_read_across",
            "Loads B's tile transposed.",
            swap(
                "load(b, (n, k), (tn, tk), padding_mode=ZERO)",
                "load(b, (k, n), (tk, tn), order='F', padding_mode=ZERO)",
            ),
            swap("ct.transpose(columns)", "columns"),
        ),
        derive(
            GEMM,
            "by_a_view",
            "A view that is cut into tiles once.",
            swap("ct.load(a, (m, k), (tm, tk), padding_mode=ZERO)", "view.load((m, k))"),
            swap("    for k", "    view = a.tiled_view((tm, tk), padding_mode=ZERO)\n    for k"),
        ),
        derive(
            GEMM,
            "sum_outside",
            "Adds to the sum outside of mma.",
            swap(
                "total = ct.mma(rows, ct.transpose(columns), total)",
                "total = total + ct.mma(rows, ct.transpose(columns), ct.zeros((tm, tn), ct.float32))",
            ),
        ),
        derive(
            GEMM,
            "backwards",
            "From the end of K to its beginning.",
            swap("(m, k)", "(m, ct.cdiv(a.shape[1], tk) - 1 - k)"),
            swap("(n, k)", "(n, ct.cdiv(a.shape[1], tk) - 1 - k)"),
        ),
    ],
    "07.2": [by_divmod, upwards, strip_by_strip],
    "07.3": [
        answer("four_ctas", "Four CTAs.", lambda tm, tn: {} if tm * tn <= 2**14 else {"num_ctas": 4}),
        answer(
            "warps_or_ctas",
            "Two CTAs for the middle one.",
            lambda tm, tn: {} if tm * tn <= 2**14 else {"num_ctas": 2, "num_worker_warps": 8 if tm * tn > 2**15 else 4},
        ),
        answer(
            "defaults_written_out",
            "Says what holds anyhow.",
            lambda tm, tn: {"num_ctas": 1 + (tm * tn > 2**15), "num_worker_warps": 4 if tm * tn <= 2**14 else 8},
        ),
        answer(
            "none_for_the_default",
            "None for a hint that is not given.",
            lambda tm, tn: {
                "num_worker_warps": None if tm * tn <= 2**14 else 8,
                "num_ctas": 2 if tm * tn > 2**15 else 1,
            },
        ),
    ],
    "07.4": [
        derive(
            PERSISTENT,
            "counted_rounds",
            "Counts rounds, not tiles.",
            swap(
                "for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):",
                "for turn in range(ct.cdiv(rows * columns - ct.bid(0), ct.num_blocks(0))):\n        tile = ct.bid(0) + turn * ct.num_blocks(0)",
            ),
        ),
        derive(
            PERSISTENT,
            "by_num_tiles",
            "num_tiles counts the tiles.",
            swap(
                "ct.cdiv(c.shape[0], tm), ct.cdiv(c.shape[1], tn)",
                "ct.num_tiles(c, 0, (tm, tn)), ct.num_tiles(c, 1, (tm, tn))",
            ),
        ),
        derive(
            PERSISTENT,
            "the_order_written_out",
            "Does not call `grouped`.",
            swap(
                "m, n = grouped(tile, rows, columns, group)",
                "first = tile // (group * columns) * group\n        m = first + tile % (group * columns) % min(group, rows - first)\n        n = tile % (group * columns) // min(group, rows - first)",
            ),
        ),
    ],
    "07.5": [by_steps, by_numpy, most_that_fit],
    "07.6": [
        derive(
            TF32,
            "cast_when_multiplied",
            "Casts later.",
            swap("padding_mode=ZERO).astype(dtype)", "padding_mode=ZERO)", times=2),
            swap("ct.mma(x, ct.transpose(y), total)", "ct.mma(x.astype(dtype), ct.transpose(y.astype(dtype)), total)"),
        ),
        derive(
            TF32,
            "asks_for_the_other_dtypes",
            "The condition the other way round.",
            swap(
                "ct.tfloat32 if a.dtype == ct.float32 else a.dtype", "a.dtype if a.dtype != ct.float32 else ct.tfloat32"
            ),
        ),
        derive(TF32, "by_the_dtype_of_b", "Looks at B.", swap("a.dtype == ct.float32", "b.dtype == ct.float32")),
    ],
    "07.7": [
        derive(
            FP8,
            "lower_first",
            "Stores the second accumulator first.",
            swap("        ct.store(c, (0, n), ct.transpose(upper.astype(c.dtype)), allow_tma=False)\n", ""),
            swap(
                "(4, n), ct.transpose(lower.astype(c.dtype)), allow_tma=False)",
                "(4, n), ct.transpose(lower.astype(c.dtype)), allow_tma=False)\n        ct.store(c, (0, n), ct.transpose(upper.astype(c.dtype)), allow_tma=False)",
            ),
        ),
        derive(
            FP8,
            "rounded_last",
            "Transposes the accumulators, then rounds.",
            swap("ct.transpose(upper.astype(c.dtype))", "ct.transpose(upper).astype(c.dtype)"),
        ),
        derive(
            FP8,
            "by_num_tiles",
            "num_tiles counts the steps.",
            swap("ct.cdiv(a.shape[1], tk)", "ct.num_tiles(b, 1, (tn, tk))"),
        ),
    ],
    "07.8": [
        derive(
            PARTS,
            "with_a_condition",
            "Goes through a whole run and skips what is beyond K.",
            swap(
                "range(part * run, min(steps, part * run + run)):",
                "range(part * run, part * run + run):\n        if k >= steps:\n            continue",
            ),
        ),
        derive(
            PARTS,
            "stored_with_none",
            "None for the first size.",
            swap("ct.reshape(total, (1, tm, tn))", "total[None, :, :]"),
        ),
        derive(
            PARTS,
            "counted_from_zero",
            "Counts from 0 in each part.",
            swap("range(part * run, min(steps, part * run + run))", "range(max(0, min(run, steps - part * run)))"),
            swap("(m, k)", "(m, part * run + k)"),
            swap("(n, k)", "(n, part * run + k)"),
        ),
    ],
    "07.9": [
        in_place_where_it_can,
        into_new_memory,
        answer("zeros", "Clean memory, which nothing needs.", split(room=torch.zeros)),
        answer(
            "on_cuda",
            "The device by its name.",
            split(room=lambda *shape, device, dtype: torch.empty(shape, device="cuda", dtype=dtype)),
        ),
    ],
}
