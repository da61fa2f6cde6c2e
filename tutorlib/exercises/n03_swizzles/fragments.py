"""03.6 to 03.8: fragments of mma, and ldmatrix."""

from typing import Any

from tensor_layouts import Layout, is_layout, rank, size
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as MMA

from tutorlib.checking.library_use import InModule
from tutorlib.checking.values import Case, law
from tutorlib.exercises.words import mistakes
from tutorlib.failure import FailureKind, Flaw

# 03.6 c_coordinate ----------------------------------------------------------------------------------------------


def c_coordinate(lane: int, value: int) -> tuple[int, int]:
    column, row = divmod(MMA.c_layout(lane, value), 16)
    return row, column


def of_atom(layout: str) -> InModule:
    """The place of a layout in CuTe's MMA atoms."""
    return InModule("tensor_layouts.atoms_nv", f"SM80_16x8x16_F32BF16BF16F32_TN.{layout}")


C_FRAGMENTS = mistakes(
    "03.6",
    turned=lambda lane, value: c_coordinate(lane, value)[::-1],
    index=lambda lane, value: MMA.c_layout(lane, value),
    one_column_wide=lambda lane, value: (lane // 4 + value // 2 * 8, lane % 4 + value % 2),
    next_row=lambda lane, value: (lane // 4 + value // 2, lane % 4 * 2 + value % 2),
    values_exchanged=lambda lane, value: c_coordinate(lane, (0, 2, 1, 3)[value]),
    eight_lanes_a_row=lambda lane, value: (lane // 8 + value // 2 * 8, lane % 8),
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


A_FRAGMENTS = mistakes(
    "03.7",
    along_the_rows=lambda: Layout(((4, 8), (2, 2, 2)), ((2, 16), (1, 128, 8))),
    value_bits_exchanged=lambda: Layout(((4, 8), (2, 2, 2)), ((32, 1), (16, 128, 8))),
    lanes_down_first=lambda: Layout(((8, 4), (2, 2, 2)), ((1, 32), (16, 8, 128))),
)


def fragment_case(name: str, pairs: list[tuple[int, int]]) -> Case:
    return law(name, [()], lambda got: fragment_flaw(got, pairs), A_FRAGMENTS)


# 03.8 ldmatrix_row ----------------------------------------------------------------------------------------------


def ldmatrix_row(lane: int) -> tuple[int, int]:
    return lane % 16, lane // 16 * 8


LDMATRIX = mistakes(
    "03.8",
    matrices_exchanged=lambda lane: (lane % 8 + lane // 16 * 8, lane // 8 % 2 * 8),
    rows_once_more=lambda lane: (lane % 16, 0),
    second_chunk_at_1=lambda lane: (lane % 16, lane // 16),
    turned=lambda lane: (lane // 16 * 8, lane % 16),
    received_element=lambda lane: (lane // 4, lane % 4 * 2),
    matrices_alternate=lambda lane: (lane // 2, lane % 2 * 8),
)
