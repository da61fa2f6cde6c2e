"""Page 06: answers that are whole functions, and what rows of p06.txt are made of."""

import cuda.tile as ct
import torch

from tests.pages.table import right, solved
from tutorlib.course.answers import load_answers

SOLVED = load_answers("06_cutile_tiles")
SOFTMAX = SOLVED["06.6"].__globals__["short_softmax"]


@right("06.6")
def waits_for_it(x, y):
    """The stream's raw handle, and a wait for the GPU at the end."""
    width = 1 << (x.shape[-1] - 1).bit_length()
    height = -(-4096 // width)
    ct.launch(torch.cuda.current_stream().cuda_stream, (-(-x.shape[0] // height),), SOFTMAX, (x, y, height, width))
    torch.cuda.synchronize()


def launching(
    stream=lambda: torch.cuda.current_stream(),
    grid=lambda blocks: (blocks,),
    tile=lambda n: 1 << (n - 1).bit_length(),
    rows=lambda tile: max(1, 4096 // tile),
    args=lambda x, y, *tile: (x, y, *tile),
):
    """A function like the solution's with something else in one place."""

    def softmax_of(x, y):
        width = tile(x.shape[1])
        ct.launch(stream(), grid(ct.cdiv(x.shape[0], rows(width))), SOFTMAX, args(x, y, rows(width), width))

    return softmax_of
