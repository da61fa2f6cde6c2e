"""What would end the process is an error with a sentence; and the forms of text that tutorlib/dsl reads, as the DSLs
write them.
"""

import re

import cuda.tile as ct
import cutlass
import pytest
from cutlass import cute
from cutlass.cute.atom import ThrCopy
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import make_fake_stream

from tests.compiling.kernels import launch, shared_kernel
from tests.dsl.refused_cute import REFUSED, vectors_down_a_column
from tutorlib.compiling.dsls import call_host, compile_cute, compile_cutile
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.launching import dynamic_smem, runtime_names
from tutorlib.dsl.refusals import cute_message, places_of
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.thread_share import make_mma, smem_layout
from tutorlib.kernels.doubling import double


@cute.jit
def retiles_one_k_block():
    tiled_mma = make_mma(GemmConfig(), cutlass.BFloat16)
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4), cutlass.BFloat16)
    tile = cute.make_rmem_tensor((128, 64), cutlass.BFloat16)
    registers = tiled_mma.make_fragment_A(tiled_mma.get_slice(0).partition_A(tile)[None, None, 0])
    cute.make_tiled_copy_A(atom, tiled_mma).get_slice(0).retile(registers)


def test_a_retile_of_too_few_modes():
    retile = ThrCopy.retile
    with pytest.raises(CompileFailed, match="retile of a tensor with 2 modes"):
        call_host(retiles_one_k_block)
    assert ThrCopy.retile is retile


@cute.jit
def forgets_that_it_is_the_host(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    x[thread] = 0.0


@cute.jit
def doubles(x: cute.Tensor):  # a helper, of kernels or of host functions
    thread, _, _ = cute.arch.thread_idx()
    if thread < cute.size(x):
        x[thread] = 2 * x[thread]


@cute.kernel
def doubling_kernel(x: cute.Tensor):
    doubles(x)


@cute.jit
def launches_a_helper(x: cute.Tensor):
    doubling_kernel(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


def test_a_host_function_that_asks_for_a_thread():
    index = cute.arch.thread_idx
    with pytest.raises(CompileFailed, match=r"cute.arch.thread_idx is for kernels: this function has @cute.jit"):
        compile_cute(forgets_that_it_is_the_host, [TensorSpec((32,))])
    assert cute.arch.thread_idx is index


def test_a_helper_of_a_kernel_may_ask():
    assert "%tid.x" in compile_cute(launches_a_helper, [TensorSpec((32,))]).ptx


@cute.kernel
def adds_up_kernel(x: cute.Tensor, loaded: cutlass.Constexpr):
    total = cutlass.Float32(0.0)
    for value in x.load() if cutlass.const_expr(loaded) else x:
        total += value
    x[0] = total


@cute.jit
def adds_up_what_is_loaded(x: cute.Tensor):
    adds_up_kernel(x, True).launch(grid=(1, 1, 1), block=(1, 1, 1))


@cute.jit
def adds_up_a_tensor(x: cute.Tensor):
    adds_up_kernel(x, False).launch(grid=(1, 1, 1), block=(1, 1, 1))


@pytest.mark.parametrize("host", [adds_up_what_is_loaded, adds_up_a_tensor])
def test_a_python_loop_over_elements(host):
    with pytest.raises(CompileFailed, match=r"Python cannot go through the elements of Tensor\w*"):
        compile_cute(host, [TensorSpec((32,))])


@cute.jit
def lays_threads_upon_one_another():
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=128)
    threads = cute.make_layout((8, 32), stride=(8, 1))
    cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8), stride=(8, 1)))


@cute.jit
def repeats_what_overlaps():
    cute.logical_product(cute.make_layout((2, 2), stride=(1, 1)), cute.make_layout(4))


@pytest.mark.parametrize("host", [lays_threads_upon_one_another, repeats_what_overlaps])
def test_a_product_of_a_layout_that_overlaps_itself(host):
    with pytest.raises(CompileFailed, match="sends several coordinates to one place"):
        call_host(host)


@cute.jit
def products_of_one_to_one_layouts():
    for shape, stride in [((8, 4), (4, 1)), ((8, 4), (8, 1)), ((8, 4), (0, 1)), ((4, 1), (1, 1))]:
        cute.raked_product(cute.make_layout(shape, stride=stride), cute.make_layout((1, 8), stride=(8, 1)))


def test_gaps_and_broadcast_modes_are_left_to_cute():
    call_host(products_of_one_to_one_layouts)


@cute.jit
def makes_a_copy_of_an_mma():
    tiled_mma = make_mma(GemmConfig(), cutlass.BFloat16)
    tile = cute.make_rmem_tensor((128, 64), cutlass.BFloat16)
    cute.make_tiled_copy_A(tiled_mma, tiled_mma).get_slice(0).partition_S(tile)


def test_a_tiled_copy_without_a_copy_atom():
    with pytest.raises(CompileFailed, match="made of a copy atom, which comes first, and this is a TiledMma"):
        call_host(makes_a_copy_of_an_mma)


@cute.jit
def cuts_atoms():
    op = warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 16))
    cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(34, 32, 16))


def test_an_mma_s_tile_that_ends_within_an_atom():
    with pytest.raises(CompileFailed, match=r"permutation_mnk=\(34, 32, 16\): along M .* a multiple of an atom's 16"):
        call_host(cuts_atoms)


@cute.jit
def leaves_a_rest_of_what_is_swizzled():
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=128)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout((85, 3), stride=(3, 1)), cute.make_layout((1, 8)))
    memory = cute.make_ptr(cutlass.BFloat16, 0, cute.AddressSpace.smem, assumed_align=128)
    copy.get_slice(0).partition_D(cute.make_tensor(memory, smem_layout(128, 32, 1)))


def test_tiles_that_do_not_fit_into_what_is_swizzled():
    with pytest.raises(CompileFailed, match=r"swizzled tensor of \(128, 32\) by tiles of \(85, 24\): a rest is left"):
        call_host(leaves_a_rest_of_what_is_swizzled)


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
    assert any(str(file).endswith("refused_cute.py") and int(line) > 0 for file, line in places_of(error) if file)


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
