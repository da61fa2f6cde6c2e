"""Stages of a compilation: which ones a function has, that nothing is left behind, and what a failure says."""

import cutlass
import pytest
from cutlass import cute
from cutlass.cute.runtime import make_fake_stream
from cutlass.cutlass_dsl import CuTeDSL

from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.kernels.doubling import double
from tutorlib.notebook.stages import compile_in_stages


@cute.jit
def refused(n: cutlass.Int32):
    n.no_such_thing()


def fakes():
    fake = TensorSpec((64,), dynamic=True).fake
    return fake(), fake(), make_fake_stream()


def test_a_kernel_is_traced_lowered_and_assembled(tmp_path):
    compiled, stages = compile_in_stages(double, *fakes(), options=f"--gpu-arch sm_80 --keep-ptx --dump-dir {tmp_path}")
    assert "st.global" in compiled.artifacts.PTX
    assert min(stages.trace, stages.lower, stages.machine_code) > 0
    assert stages.compile == stages.lower + stages.machine_code + stages.host_code


def test_the_compiler_is_left_as_it_was(capfd):
    compiler = CuTeDSL._get_dsl().compiler_provider
    before = dict(vars(compiler))
    compile_in_stages(double, *fakes(), options="--gpu-arch sm_80")
    with pytest.raises(CompileFailed, match="no_such_thing"):
        compile_in_stages(refused, cutlass.Int32(1))
    assert vars(compiler) == before
    cute.compile(double, *fakes(), options="--gpu-arch sm_80")
    assert "Execution time report" not in capfd.readouterr().err
