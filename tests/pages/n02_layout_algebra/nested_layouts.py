"""Random nested layouts, and operands for each operator of the algebra, as strategies of hypothesis."""

from hypothesis import strategies as st
from tensor_layouts import Layout, cosize, size

from tests.pages.n02_layout_algebra.solved_algebra import table

EXTENTS = (1, 2, 2, 3, 4, 4, 5, 6, 8)


def layout_of(modes) -> Layout:
    """[(2, 1), [(4, 2), (3, 8)]] → (2,(4,3)):(1,(2,8))."""

    def pick(tree, n):
        return tuple(pick(part, n) for part in tree) if isinstance(tree, list) else tree[n]

    return Layout(pick(modes, 0), pick(modes, 1))


@st.composite
def nested(draw, modes: list) -> Layout:
    """The flat modes, in brackets up to two deep."""
    if len(modes) == 1 and draw(st.booleans()):
        return layout_of(modes[0])
    first, second = sorted(draw(st.integers(0, len(modes))) for _ in range(2))
    middle = modes[first:second]
    return layout_of([*modes[:first], *([middle] if middle else []), *modes[second:]])


@st.composite
def extents(draw, largest: int) -> list[int]:
    picked = draw(st.lists(st.sampled_from(EXTENTS), min_size=1, max_size=4))
    while size(tuple(picked)) > largest:
        picked.remove(max(picked))
    return picked or [1]


@st.composite
def layouts(draw, largest: int = 64, wild: bool = True) -> Layout:
    """Modes stored in any order, with holes; or, where wild, with any strides at all."""
    shape = draw(extents(largest))
    if wild and draw(st.integers(0, 2)) == 0:
        strides = [draw(st.sampled_from((0, 1, 1, 2, 3, 4, 6, 8, 12, 16, 24))) for _ in shape]
    else:
        strides, step = [0] * len(shape), 1
        for n in draw(st.permutations(range(len(shape)))):
            strides[n] = step
            step *= shape[n] * draw(st.sampled_from((1, 1, 1, 2, 3)))
    return draw(nested(list(zip(shape, strides, strict=True))))


@st.composite
def pickers(draw, of: int) -> Layout:
    """Layouts whose offsets are indices below `of`."""
    left, modes = of - 1, []
    for extent in draw(extents(of)):
        farthest = left // (extent - 1) if extent > 1 else of
        likely = [step for step in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32) if step <= farthest]
        step = draw(st.sampled_from([0, *likely, *likely, *likely]))
        left -= step * (extent - 1)
        modes.append((extent, step))
    return draw(nested(modes))


@st.composite
def compositions(draw) -> tuple[Layout, Layout]:
    a = draw(layouts())
    return a, draw(pickers(size(a)))


@st.composite
def bounded(draw) -> tuple[Layout, int]:
    layout = draw(layouts(largest=32))
    return layout, cosize(layout) * draw(st.sampled_from((1, 1, 2, 3))) + draw(st.sampled_from((0, 0, 0, 1, 5)))


@st.composite
def tilings(draw) -> tuple[Layout, tuple[int, ...]]:
    """A layout of rank 2 or 3 and a tile extent for each mode, which need not divide."""
    modes = draw(st.integers(2, 3))
    parts = [draw(layouts(largest=16 if modes == 2 else 6)) for _ in range(modes)]
    return Layout(*parts), tuple(draw(st.integers(1, size(part))) for part in parts)


@st.composite
def divisions(draw) -> tuple[Layout, Layout]:
    """A layout and a tile that picks some of its indices, none twice."""
    layout = draw(layouts())
    tile = draw(pickers(size(layout)).filter(lambda b: len(set(table(b))) == size(b)))
    return layout, tile
