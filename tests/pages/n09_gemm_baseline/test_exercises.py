"""Notebook 09: what its page counts is what the hardware has."""

from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as MMA

from tutorlib.exercises.p09 import mma_column


def test_the_page_counts_the_columns_of_an_mma_as_the_hardware_does():
    lanes = {(lane, value): MMA.c_layout(lane, value) // 16 for lane in range(4) for value in range(2)}
    assert lanes == {(lane, value): mma_column(value, lane, 0, 0, 1) for lane, value in lanes}
