"""03.6 to 03.8: fragments of mma, and ldmatrix."""

from typing import Any

from tensor_layouts import Layout, is_layout, rank, size
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as MMA

from tutorlib.checking.library_use import InModule
from tutorlib.checking.values import Case, Mistake, law
from tutorlib.failure import FailureKind, Flaw

# 03.6 c_coordinate ----------------------------------------------------------------------------------------------


def c_coordinate(lane: int, value: int) -> tuple[int, int]:
    column, row = divmod(MMA.c_layout(lane, value), 16)
    return row, column


def of_atom(layout: str) -> InModule:
    """The place of a layout in CuTe's MMA atoms."""
    return InModule("tensor_layouts.atoms_nv", f"SM80_16x8x16_F32BF16BF16F32_TN.{layout}")


C_FRAGMENTS = (
    Mistake("Row and column are exchanged.", lambda lane, value: c_coordinate(lane, value)[::-1]),
    Mistake(
        "That is the index row + 16 · column, not the pair.",
        lambda lane, value: MMA.c_layout(lane, value),
    ),
    Mistake(
        "A lane's two neighboring values are columns 2 · (lane % 4) and the next: its columns are two wide.",
        lambda lane, value: (lane // 4 + value // 2 * 8, lane % 4 + value % 2),
    ),
    Mistake(
        "Values 2 and 3 are 8 rows below values 0 and 1, not one.",
        lambda lane, value: (lane // 4 + value // 2, lane % 4 * 2 + value % 2),
    ),
    Mistake(
        "Values 1 and 2 are exchanged: value 1 is beside value 0, value 2 is 8 rows below.",
        lambda lane, value: c_coordinate(lane, (0, 2, 1, 3)[value]),
    ),
    Mistake(
        "Four lanes share a row, not eight: their two values each make its 8 columns.",
        lambda lane, value: (lane // 8 + value // 2 * 8, lane % 8),
    ),
)

# 03.7 a_fragment ------------------------------------------------------------------------------------------------


def a_fragment() -> Layout:
    return MMA.a_layout


class FragmentFlaw(FailureKind):
    """Errors in a layout of A's fragment: its modes, an element [value: its number]."""

    MODES = "a fragment's modes"
    ELEMENT = "a fragment's element"


def fragment_flaw(got: Any, pairs: list[tuple[int, int]]) -> str | None:
    """A (lane, value) for which a layout of A's fragment is wrong, in words; None if it is right."""
    if not is_layout(got):
        return "it should be a Layout"
    if rank(got) != 2 or (size(got.shape[0]), size(got.shape[1])) != (32, 8):
        return Flaw("it should have two modes, of 32 lanes and of 8 values", FragmentFlaw.MODES)
    for lane, value in pairs:
        k, row = divmod(got(lane, value), 16)
        want_k, want_row = divmod(MMA.a_layout(lane, value), 16)
        if (row, k) != (want_row, want_k):
            told = f"lane {lane}, value {value} should be row {want_row}, k {want_k}, and is row {row}, k {k}"
            return Flaw(told, FragmentFlaw.ELEMENT(value=value))
    return None


A_FRAGMENTS = (
    Mistake(
        "Your index runs along the rows, 16·row + k; here it runs down the columns, row + 16·k.",
        lambda: Layout(((4, 8), (2, 2, 2)), ((2, 16), (1, 128, 8))),
    ),
    Mistake(
        "The second and third bit of the value are exchanged: value 2 is 8 rows down, value 4 is 8 along k.",
        lambda: Layout(((4, 8), (2, 2, 2)), ((32, 1), (16, 128, 8))),
    ),
    Mistake(
        "Lanes run along k first, four of them, and then down the rows.",
        lambda: Layout(((8, 4), (2, 2, 2)), ((1, 32), (16, 8, 128))),
    ),
)


def fragment_case(name: str, pairs: list[tuple[int, int]]) -> Case:
    return law(name, [()], lambda got: fragment_flaw(got, pairs), A_FRAGMENTS)


# 03.8 ldmatrix_row ----------------------------------------------------------------------------------------------


def ldmatrix_row(lane: int) -> tuple[int, int]:
    return lane % 16, lane // 16 * 8


LDMATRIX = (
    Mistake(
        "Matrices 1 and 2 are exchanged: register 1 of A's fragment is 8 rows down, register 2 is 8 along k.",
        lambda lane: (lane % 8 + lane // 16 * 8, lane // 8 % 2 * 8),
    ),
    Mistake(
        "Lanes 16 to 31 walk down the rows once more: eight lanes serve one matrix, and there are four.",
        lambda lane: (lane % 16, 0),
    ),
    Mistake(
        "The column counts elements: the second pair of matrices starts at 8.", lambda lane: (lane % 16, lane // 16)
    ),
    Mistake("Row and column are exchanged.", lambda lane: (lane // 16 * 8, lane % 16)),
    Mistake(
        "That is the element that the lane receives. The address that it supplies is that of a whole row of 8 "
        "elements.",
        lambda lane: (lane // 4, lane % 4 * 2),
    ),
    Mistake(
        "Two lanes on one row of the tile would alternate between matrices; eight lanes in turn serve one matrix.",
        lambda lane: (lane // 2, lane % 2 * 8),
    ),
)
