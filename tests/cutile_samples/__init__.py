"""NVIDIA's public cuTile kernels as a table of launches, each with inputs and with what torch gives for them.

The kernels are not part of this repository: an environment variable names a checkout of each of NVIDIA's. A sample
is imported, and its inputs are made, only when a test asks for its case.
"""

from tests.cutile_samples import cutile_python, tilegym, tilegym_attention
from tests.cutile_samples.table import CUTILE_PYTHON, SAMPLES, TILEGYM, assert_close, of_source

SOURCES = [CUTILE_PYTHON, TILEGYM]

__all__ = ["SAMPLES", "SOURCES", "assert_close", "cutile_python", "of_source", "tilegym", "tilegym_attention"]
