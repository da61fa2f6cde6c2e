"""The forms of text that tutorlib/dsl reads besides the refusals', met in what the installed DSLs write.

Read elsewhere: the type of a tensor that was marked (tests/checking/test_compile_calls), the compiler's report of its
passes (tests/notebook/test_stages). Each form can be provoked without a GPU.
"""

import re

import cuda.tile as ct
import pytest
from cutlass import cute
from cutlass.cute.runtime import make_fake_stream

from tests.compiling.kernels import launch, shared_kernel
from tests.dsl.refused_copies import vectors_down_a_column
from tests.dsl.refused_cute import REFUSED
from tutorlib.compiling.dsls import compile_cutile
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.launching import dynamic_smem, runtime_names
from tutorlib.dsl.refusals import cute_message, places_of
from tutorlib.kernels.doubling import double


def refusal_of(name):
    host, spec = next((host, spec) for host, spec, _ in REFUSED if host.__name__ == name)
    with pytest.raises(Exception) as caught:  # noqa: PT011  # whatever the DSL raises
        cute.compile(host, spec.fake(), spec.fake(), options="--gpu-arch sm_90a --generate-line-info")
    return caught.value


def test_what_mlirs_verifier_says_is_one_line_of_it():
    error = refusal_of(vectors_down_a_column.__name__)
    assert "Verification failed" in str(error.cause)
    assert re.match(r"'cute[\w.]*' op ", cute_message(error))


def test_an_error_of_cute_names_files_and_lines():
    error = refusal_of(vectors_down_a_column.__name__)
    assert any(str(file).endswith("refused_copies.py") and int(line) > 0 for file, line in places_of(error) if file)


@ct.kernel
def unknown_name(x):
    ct.store(x, (0,), no_such_tile)  # noqa: F821


def test_an_error_of_cutile_names_a_file_and_a_line():
    with pytest.raises(CompileFailed) as caught:
        compile_cutile(unknown_name, [TensorSpec((64,))], "sm_80")
    assert (__file__, caught.value.line) in places_of(caught.value.__cause__)
    assert "no_such_tile" in str(caught.value)


def test_a_host_function_says_how_much_shared_memory_it_asks_for():
    fake = TensorSpec((256,)).fake
    built = cute.compile(launch(shared_kernel), fake(), options="--gpu-arch sm_80")
    assert dynamic_smem(built) == 128 * 4


def test_a_host_function_calls_the_runtimes_functions_by_these_names():
    fake = TensorSpec((64,), dynamic=True).fake
    built = cute.compile(double, fake(), fake(), make_fake_stream(), options="--gpu-arch sm_80")
    called = runtime_names(built)
    assert {"_cudaLibraryGetKernel", "_cudaLaunchKernelEx"} <= set(called)
