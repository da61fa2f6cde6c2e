"""Wrong answers to notebook 02: products, inverses and thread-value layouts."""

import tensor_layouts as tl
from tensor_layouts import Layout, cosize, mode, rank, size

from tests.pages.n02_layout_algebra.algebra import change, right
from tests.pages.table import answer
from tutorlib.layouts.oracle import ask
from tutorlib.layouts.tiled_copy import tiled_copy_view


def copies_by_size(block, grid):
    """Replicates size(block) apart: wrong where the block has holes."""
    return Layout(block, Layout(grid.shape, tl.transform_tuple(grid.stride, lambda step: step * size(block))))


def copies_by_cosize(block, grid):
    """Replicates cosize(block) apart and leaves the block's holes empty."""
    return Layout(block, Layout(grid.shape, tl.transform_tuple(grid.stride, lambda step: step * cosize(block))))


def copies_on_top(block, grid):
    """Puts the copies at the grid's own offsets."""
    return Layout(block, grid)


def copies_in_order(block, grid):
    """Ignores the grid's strides."""
    return Layout(block, tl.complement(block, size(block) * size(grid)))


def copies_first(block, grid):
    """Which copy first, inside the block second."""
    product = right("02.8")(block, grid)
    return Layout(mode(product, 1), mode(product, 0))


def first_mode_repeated(block, grid):
    """Repeats the block's first mode only."""
    first = mode(block, 0) if rank(block) > 1 else block
    return right("02.8")(first, grid)


together = right("02.11")
shared = right("02.12")
in_product = change("02.8")
in_blocked = change("02.9")
in_inverse = change("02.10")
in_vector = change("02.11")
in_tv = change("02.12")


WRONG = {
    "02.8": [
        copies_by_size,
        copies_by_cosize,
        copies_on_top,
        copies_in_order,
        copies_first,
        first_mode_repeated,
        answer(
            "library",
            "has tensor_layouts do it",
            lambda a, b: tl.logical_product(a, b),
            "which does what you are asked to write",
        ),
        answer(
            "blocked_library",
            "has tensor_layouts block it",
            lambda a, b: tl.blocked_product(a, b),
            "which does what you are asked to write",
        ),
        in_product(
            "too_short",
            "room for as many copies as the grid has elements",
            "cosize(grid)",
            "size(grid)",
            "The complement is too short for this grid",
        ),
        in_product("grid_forgotten", "copies in order", "tl.compose(places, grid)", "places", "copies can begin at"),
        in_product("on_top", "the grid's own offsets", "tl.compose(places, grid)", "grid", "has their offsets"),
        in_product(
            "turned",
            "which copy first",
            "Layout(block, tl.compose(places, grid))",
            "Layout(tl.compose(places, grid), block)",
            "modes are swapped",
        ),
        in_product("other_way", "grid ∘ places", "tl.compose(places, grid)", "tl.compose(grid, places)", ""),
        in_product(
            "complement_of_grid",
            "the complement of the other one",
            "tl.complement(block, size(block) * cosize(grid))",
            "tl.complement(grid, size(block) * cosize(grid))",
            "",
        ),
        in_product(
            "size_of_block",
            "no room for the copies",
            "size(block) * cosize(grid)",
            "cosize(block)",
            "copies can begin at",
        ),
        in_product(
            "grid_alone", "room for the grid alone", "size(block) * cosize(grid)", "cosize(grid)", "copies can begin at"
        ),
        in_product("first_copy", "copy 0 alone", "tl.compose(places, grid)", "Layout(1, 0)", "copies can begin at"),
        in_product(
            "composed_block",
            "the block through the places",
            "Layout(block, tl",
            "Layout(tl.compose(places, Layout(size(block))), tl",
            "first mode should be the block",
        ),
        in_product(
            "not_bundled",
            "a pair",
            "Layout(block, tl.compose(places, grid))",
            "(block, tl.compose(places, grid))",
            "it should be a Layout",
        ),
    ],
    "02.9": [
        answer(
            "library",
            "has tensor_layouts do it",
            lambda a, b: tl.blocked_product(a, b),
            "which does what you are asked to write",
        ),
        answer(
            "raked_library", "has tensor_layouts rake", lambda a, b: tl.raked_product(a, b), "That is the raked product"
        ),
        in_blocked(
            "raked",
            "the copies first",
            "mode(inside, n), mode(copies, n)",
            "mode(copies, n), mode(inside, n)",
            "That is the raked product",
        ),
        in_blocked(
            "not_paired",
            "the logical product",
            "Layout(*(Layout(mode(inside, n), mode(copies, n)) for n in range(2)))",
            "product",
            "Pair rows with rows",
        ),
        in_blocked("crossed", "rows with columns", "mode(copies, n)) for", "mode(copies, 1 - n)) for", ""),
        in_blocked(
            "inside_twice",
            "the block twice",
            "mode(copies, n)) for",
            "mode(inside, n)) for",
            "it should be a matrix of",
        ),
        in_blocked("rows_only", "rows alone", "for n in range(2)", "for n in range(1)", "it should be a matrix of"),
        in_blocked(
            "columns_first", "columns for rows", "for n in range(2)", "for n in (1, 0)", "it should be a matrix of"
        ),
        in_blocked(
            "flat",
            "four modes",
            "Layout(*(Layout(mode(inside, n), mode(copies, n)) for n in range(2)))",
            "Layout(*(mode(half, n) for n in range(2) for half in (inside, copies)))",
            "it should be a matrix of",
        ),
        in_blocked(
            "grid_itself", "the grid's own strides", "mode(copies, n)) for", "mode(grid, n)) for", "on top of the block"
        ),
        in_blocked(
            "grid_by_size",
            "the grid times the block's size",
            "mode(copies, n)) for",
            "Layout(size(mode(grid, n)), size(block) * flatten((mode(grid, n).stride,))[0])) for",
            "a block with holes",
        ),
        in_blocked(
            "exchanged",
            "the product of the other two",
            "tl.logical_product(block, grid)",
            "tl.logical_product(grid, block)",
            "",
        ),
        in_blocked(
            "a_tuple",
            "no Layout",
            "Layout(*(Layout(mode(inside, n), mode(copies, n)) for n in range(2)))",
            "tuple(Layout(mode(inside, n), mode(copies, n)) for n in range(2))",
            "it should be a Layout",
        ),
    ],
    "02.10": [
        answer(
            "asks_cute",
            "asks CuTe",
            lambda layout: ask([("right_inverse", layout)])[0],
            "which does what you are asked to write",
        ),
        answer("library", "has tensor_layouts do it", tl.right_inverse, "which does what you are asked to write"),
        answer(
            "common_with_itself",
            "what a layout has in common with itself",
            lambda layout: tl.max_common_layout(layout, layout),
            "which does what you are asked to write",
        ),
        answer(
            "left_library",
            "has tensor_layouts invert it from the left",
            tl.left_inverse,
            "which does what you are asked to write",
        ),
        answer(
            "shape_for_stride", "shape and stride exchanged", lambda layout: Layout(layout.stride, layout.shape), ""
        ),
        in_inverse(
            "goes_on", "goes over holes", "if stride != reach:\n            break", "if False:\n            break", ""
        ),
        in_inverse("ones_counted", "counts modes of extent 1", " if kind[1] > 1", "", ""),
        in_inverse(
            "own_stride",
            "the layout's stride for the index distance",
            "kept.append((extent, apart))",
            "kept.append((extent, stride))",
            "where the layout has",
        ),
        in_inverse(
            "apart_too_far",
            "the distance has its own extent in it",
            "modes.append((stride, extent, apart))\n        apart *= extent",
            "apart *= extent\n        modes.append((stride, extent, apart))",
            "",
        ),
        in_inverse("apart_added", "adds extents", "apart *= extent", "apart += extent", ""),
        in_inverse("reach_is_extent", "reach is the last extent", "reach *= extent", "reach = extent", ""),
        in_inverse("one_mode", "the mode of stride 1 alone", "reach *= extent", "break", "it ends at offset"),
        in_inverse(
            "from_the_right",
            "indices with the last mode fastest",
            "strict=True):\n        modes",
            "strict=True) if False else reversed(list(zip(flatten((layout.shape,)), flatten((layout.stride,)), strict=True))):\n        modes",
            "",
        ),
    ],
    "02.11": [
        answer(
            "library",
            "has tensor_layouts do it",
            lambda a, b: tl.max_common_vector(a, b),
            "which does what you are asked to write",
        ),
        in_vector(
            "any_stride",
            "the first extent whatever its stride",
            "extent if stride == 1 else 1",
            "extent",
            "only n:1 keeps n elements together",
        ),
        in_vector("nothing", "0 where not even two stay together", "else 1", "else 0", "it should give 1"),
        in_vector(
            "not_coalesced",
            "the first mode as it is written",
            "tl.coalesce(tl.compose(b, tl.right_inverse(a)))",
            "tl.compose(b, tl.right_inverse(a))",
            "Coalesce it first",
        ),
        in_vector("one_side", "A's side", "tl.compose(b, tl.right_inverse(a))", "tl.right_inverse(a)", ""),
        in_vector("no_inverse", "b ∘ a", "tl.right_inverse(a)", "a", ""),
        in_vector("b_alone", "B as it stands", "tl.compose(b, tl.right_inverse(a))", "b", ""),
        in_vector(
            "a_after_b_inverse",
            "B's inverse, and no A",
            "tl.compose(b, tl.right_inverse(a))",
            "tl.right_inverse(b)",
            "",
        ),
        in_vector(
            "last_mode", "the last extent", "[0], flatten((steps.stride,))[0]", "[-1], flatten((steps.stride,))[-1]", ""
        ),
        in_vector("all_of_it", "the size", "return extent if stride == 1 else 1", "return size(steps)", ""),
        in_vector("in_bytes", "bytes of bf16", "return extent if", "return 2 * extent if", ""),
        answer(
            "both_contiguous",
            "each by itself",
            lambda a, b: min(size(tl.right_inverse(a)), size(tl.right_inverse(b))),
            "with other neighbors",
        ),
        answer("never_more_than_8", "16 bytes of bf16", lambda a, b: min(8, together(a, b)), "it should give 32"),
        answer("always_one", "one element", lambda a, b: 1, "it should give 32"),
    ],
    "02.12": [
        in_tv("blocked", "blocks, not rakes", "tl.raked_product", "tl.blocked_product", "That is the blocked product"),
        in_tv("exchanged", "values for threads", "(threads, values))\n", "(values, threads))\n", ""),
        in_tv(
            "not_inverted",
            "the product itself",
            "tl.right_inverse(tl.raked_product(threads, values))",
            "tl.raked_product(threads, values)",
            "",
        ),
        in_tv(
            "one_mode",
            "not taken apart",
            "return tl.compose(inverse, Layout((size(threads), size(values))))",
            "return inverse",
            "it should have two modes",
        ),
        in_tv(
            "values_first",
            "(value, thread)",
            "return tl.compose(inverse, Layout((size(threads), size(values))))",
            "tv = tl.compose(inverse, Layout((size(threads), size(values))))\n    return Layout(mode(tv, 1), mode(tv, 0))",
            "modes are swapped",
        ),
        in_tv(
            "counts_turned",
            "as many threads as values",
            "(size(threads), size(values))",
            "(size(values), size(threads))",
            "it should have two modes",
        ),
        in_tv("flat_product", "the logical product", "tl.raked_product", "tl.logical_product", ""),
        in_tv(
            "row_numbers",
            "counts the tile by rows",
            "return tl.compose(inverse,",
            "return tl.compose(Layout((threads.shape[0] * values.shape[0], size(mode(threads, 1)) * size(mode(values, 1))), (size(mode(threads, 1)) * size(mode(values, 1)), 1)),",
            "",
        ),
        in_tv(
            "values_alone",
            "each thread the values of thread 0",
            "Layout((size(threads), size(values)))",
            "Layout((size(threads), size(values)), (0, size(threads)))",
            "of the tile, index",
        ),
        in_tv(
            "fastest_values",
            "t · values + v",
            "Layout((size(threads), size(values)))",
            "Layout((size(threads), size(values)), (size(values), 1))",
            "",
        ),
        in_tv("left", "threads alone", "tl.raked_product(threads, values)", "threads", ""),
        answer(
            "the_pages_view",
            "what the page draws with",
            lambda t, v: tiled_copy_view(t, v, tuple(a * b for a, b in zip(t.shape, v.shape, strict=True))).layout,
            "which does what you are asked to write",
        ),
        answer("a_pair", "CuTe's pair with the tile", lambda t, v: ((1, 1), shared(t, v)), "it should be a Layout"),
        answer("threads_for_tv", "threads and values side by side", lambda t, v: Layout(t, v), ""),
    ],
}
