"""Page 06: answers that are whole functions, and what rows of p06.txt are made of."""

import cuda.tile as ct
import torch

from tests.pages.table import right, solved
from tutorlib.course.answers import load_answers

SOLVED = load_answers("06_cutile_tiles")
SOFTMAX = SOLVED["06.3"].__globals__["short_softmax"]


@right("06.3")
def waits_for_it(x, y):
    """The stream's raw handle, two rows a tile, and a wait for the GPU at the end."""
    width = 1 << (x.shape[-1] - 1).bit_length()
    kernel = SOFTMAX.replace_hints(occupancy=8 if width <= 1024 else 4)
    args = x, y, 2, width
    ct.launch(torch.cuda.current_stream().cuda_stream, (-(-x.shape[0] // 2),), kernel, args)
    torch.cuda.synchronize()


def launching(
    stream=lambda: torch.cuda.current_stream(),
    grid=lambda blocks: (blocks,),
    tile=lambda n: 1 << (n - 1).bit_length(),
    rows=lambda tile: max(2, 2048 // tile),
    args=lambda x, y, *tile: (x, y, *tile),
    occupancy=0,
):
    """A function like the solution's with something else in one place. occupancy: 0 for the solution's."""

    def softmax_of(x, y):
        width = tile(x.shape[1])
        kernel = SOFTMAX.replace_hints(occupancy=(8 if width <= 1024 else 4) if occupancy == 0 else occupancy)
        ct.launch(stream(), grid(ct.cdiv(x.shape[0], rows(width))), kernel, args(x, y, rows(width), width))

    return softmax_of
