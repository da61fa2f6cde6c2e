"""The order of C's columns in the GEMM of notebooks 09 to 12."""

from cutlass import cute
from tensor_layouts import Layout

from tutorlib.exercises.n09_gemm_baseline.exercises import columns
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.layouts import n_order


def test_the_order_of_columns_is_the_course_s():
    config, said = GemmConfig((128, 256, 32), (2, 4), 4), []

    def note(layout):
        said.append(Layout(layout.shape, layout.stride))

    @cute.jit
    def host():
        note(n_order(config))

    host()
    assert said[0] == columns(config.warps[1], config.tile[1])
