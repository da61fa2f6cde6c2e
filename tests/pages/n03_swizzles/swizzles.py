"""What the wrong answers to notebook 03 share."""

from functools import partial

from tensor_layouts import Layout
from tensor_layouts.atoms_nv import SM80_16x8x16_F32BF16BF16F32_TN as MMA

from tests.pages.solved import changed, solution
from tutorlib.models import banks

NAMES = {"Layout": Layout, "banks": banks, "mma": MMA}


def change(id):
    return partial(changed, id, NAMES)


padded, chosen, fragment = (solution(id, NAMES) for id in ("03.2", "03.4", "03.7"))
