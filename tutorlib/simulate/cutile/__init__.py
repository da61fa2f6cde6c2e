"""An interpreter for cuTile: a @ct.kernel runs block by block on torch tensors in ordinary memory.

    report = run(kernel, grid, args)    # where ct.launch(stream, grid, kernel, args) would need a GPU

Shapes, dtypes and syntax are checked first, by cuTile's own compiler. While the blocks run, one after another,
the interpreter notices what a GPU would not tell: see `TileLaunch`.
"""

from tutorlib.simulate.cutile.run import TileReport, run

__all__ = ["TileReport", "run"]
