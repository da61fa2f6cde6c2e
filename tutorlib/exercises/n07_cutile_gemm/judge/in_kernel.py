"""07.2 in its place: a kernel calls the answer."""

from tutorlib.checking.served import Served


def tiles_in_kernel(served: Served, rows: int, columns: int, group: int) -> list[tuple[int, ...]] | str:
    """The tile that the answer gives each block of a kernel, or why the kernel does not compile, in one line."""
    import cuda.tile as ct
    import torch

    from tutorlib.compiling.cutile import refusals
    from tutorlib.compiling.errors import CompileFailed
    from tutorlib.simulate.cutile import run

    answer = served.answer

    @ct.kernel
    def order(tiles, rows, columns, group):
        block = ct.bid(0)
        m, n = answer(block, rows, columns, group)
        ct.scatter(tiles, (block, 0), m)
        ct.scatter(tiles, (block, 1), n)

    tiles = torch.zeros(rows * columns, 2, dtype=torch.int32)
    try:
        with refusals():
            run(order, (rows * columns,), (tiles, rows, columns, group))
    except CompileFailed as failed:
        return failed.lines[0]
    return [tuple(tile) for tile in tiles.tolist()]
