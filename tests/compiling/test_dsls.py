"""CuTe and cuTile kernels compiled on this machine, and what a failure says."""

import cuda.tile as ct
import cutlass
import numpy as np
import pytest
from cutlass import cute
from cutlass.cute.runtime import from_dlpack
from cutlass.memory import SmemAllocator

from tests.compiling.kernels import double_kernel, launch
from tutorlib.compiling.dsls import call_host, compile_cute, compile_cutile
from tutorlib.compiling.errors import CompileFailed
from tutorlib.compiling.spec import TensorSpec
from tutorlib.dsl.functions import compilations
from tutorlib.exercises import find

VECTOR = TensorSpec((1024,))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_targets(arch):
    assert f".target {arch}\n" in compile_cute(launch(double_kernel), [VECTOR], arch).ptx


@cute.jit
def fill_with_its_sum(a: cute.Tensor, factor: cutlass.Constexpr):
    total = a[0]
    for i in range(1, cute.size(a)):
        total += a[i]
    a[0] = factor * total


def test_a_host_function_runs_on_the_cpu():
    ones = np.ones(7, dtype=np.float32)
    call_host(fill_with_its_sum, from_dlpack(ones), 10.0)
    assert ones.tolist() == [70, 1, 1, 1, 1, 1, 1]


def test_compilations_of_direct_calls_are_counted():
    @cute.jit
    def fill(a: cute.Tensor):
        for i in range(cute.size(a)):
            a[i] = 1.5

    def compiled_by(*tensors):
        before = compilations()
        for tensor in tensors:
            fill(tensor)
        return compilations() - before

    sizes = [3, 5, 3]
    assert compiled_by(*(from_dlpack(np.zeros(n, np.float32)) for n in sizes)) == 2
    assert compiled_by(*(from_dlpack(np.zeros(n, np.float32)).mark_layout_dynamic() for n in sizes)) == 1


def test_a_host_functions_failure_names_its_line():
    @cute.jit
    def host(a: cute.Tensor):
        a[0, 0] = 1.0

    with pytest.raises(CompileFailed, match=r"^line \d+, `a\[0, 0\] = 1.0`: "):
        call_host(host, from_dlpack(np.zeros(3, np.float32)))


@cute.kernel
def misnamed_kernel(a: cute.Tensor):
    a[0] = undefined_name  # noqa: F821


@cute.kernel
def wrong_rank_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    a[t, t, t] = 1.0


@cute.kernel
def returning_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    if t < 3:
        return
    a[t] = 1.0


@cute.kernel
def greedy_kernel(a: cute.Tensor):
    smem = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(100_000), byte_alignment=16)
    smem[0] = a[0]
    cute.arch.barrier()
    a[0] = smem[1]


@cute.jit
def launches_nothing(a: cute.Tensor):
    cute.printf("{}", cute.size(a))


FAILURES = [
    (launch(misnamed_kernel), "a[0] = undefined_name", "name 'undefined_name' is not defined"),
    (launch(wrong_rank_kernel), "a[t, t, t] = 1.0", "weakly congruent"),
    (launch(returning_kernel), "return", "Early exit"),
    (launch(greedy_kernel), "", "asks for 400,000 bytes of shared memory; a block on sm_80 can have 166,912"),
    (launches_nothing, "", "launches_nothing launches no kernel"),
    (double_kernel, "", "@cute.jit"),
    (lambda a: a, "", "@cute.jit"),
]


@pytest.mark.parametrize(("host", "quoted", "says"), FAILURES, ids=lambda part: getattr(part, "__name__", None))
def test_failures_are_one_line_and_quote_the_readers(host, quoted, says):
    with pytest.raises(CompileFailed) as failure:
        compile_cute(host, [VECTOR])
    message = str(failure.value)
    assert says in message + failure.value.original
    assert "\n" not in message
    assert "\x1b" not in message
    if quoted:
        assert message.startswith(f"line {failure.value.line}, `")
        assert quoted in message


@cute.kernel
def placeholder_kernel(a: cute.Tensor):
    raise NotImplementedError("Exercise 02.4")


@cute.kernel
def placeholder_in_branch_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    if t < 3:
        raise NotImplementedError("Exercise 02.4")


@pytest.mark.parametrize("kernel", [placeholder_kernel, placeholder_in_branch_kernel])
def test_an_unwritten_answer_says_so(kernel):
    with pytest.raises(NotImplementedError, match=r"^Exercise 02\.4$"):
        compile_cute(launch(kernel), [VECTOR])


@cute.jit
def fetches_a_coordinate(steps):
    for k_tile in cutlass.range(steps.k_tiles):
        steps.load(k_tile, 0)
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, (0, 0, 0))
            steps.multiply(k_block)


def test_a_failure_inside_the_course_s_own_code_quotes_the_reader_s_line_that_led_there():
    message = find("10.2").grade(fetches_a_coordinate).message
    assert "it does not compile" in message
    assert "`steps.fetch(k_block, (0, 0, 0))`" in message


@ct.kernel
def placeholder_cutile(a):
    raise ct.static_exception(NotImplementedError("Exercise 06.1"))


def test_an_unwritten_cutile_answer_says_so():
    with pytest.raises(NotImplementedError, match=r"^Exercise 06\.1$"):
        compile_cutile(placeholder_cutile, [VECTOR])


@ct.kernel
def gemm_cutile(a, b, c, m: ct.Constant[int], n: ct.Constant[int], k: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((m, n), 0, dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(m, k))):
        acc = ct.mma(ct.load(a, (i, step), (m, k)), ct.load(b, (step, j), (k, n)), acc)
    ct.store(c, (i, j), ct.astype(acc, c.dtype))


@pytest.mark.parametrize(("arch", "tensor_core"), [("sm_80", "mma.sync"), ("sm_90", "wgmma"), ("sm_100", "tcgen05")])
def test_cutile_uses_the_tensor_cores_of_each_target(arch, tensor_core):
    matrix = TensorSpec((512, 512), "bf16")
    compiled = compile_cutile(gemm_cutile, [matrix, matrix, matrix, 128, 128, 64], arch)
    assert tensor_core in compiled.instructions
    assert compiled.registers > 32
    assert compiled.threads >= 128
    assert compiled.smem_bytes >= 2 * 128 * 64 * 2  # a tile of A and one of B


@ct.kernel
def odd_tile_cutile(a):
    ct.store(a, (0,), ct.load(a, (0,), (192,)))


def test_a_cutile_failure_quotes_the_readers_line():
    with pytest.raises(CompileFailed, match=r"line \d+, `ct.store.*\(192,\) is not a power of two"):
        compile_cutile(odd_tile_cutile, [VECTOR])
