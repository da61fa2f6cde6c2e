"""Compiling without a GPU: numbers agree with ptxas, and failures name the reader's line."""

import re
import subprocess
import sys

import cuda.tile as ct
import cutlass
import numpy as np
import pytest
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack
from cutlass.memory import SmemAllocator

from tutorlib import ptxas
from tutorlib.compile import CompileFailed, TensorSpec, call_host, compilations, compile_cute, compile_cutile

VECTOR = TensorSpec((1024,))


def launch(kernel, threads=128):
    """A host function with one tensor that launches one block of the kernel."""

    @cute.jit
    def host(a: cute.Tensor):
        kernel(a).launch(grid=(1, 1, 1), block=(threads, 1, 1))

    return host


@cute.kernel
def double_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    a[t] = a[t] + a[t]


@cute.kernel
def wide_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    four = cute.local_tile(a, (4,), (t,))
    cute.autovec_copy(cute.local_tile(a, (4,), (t + 128,)), four)


@cute.kernel
def shared_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    smem = SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(128), byte_alignment=16)
    smem[t] = a[t]
    cute.arch.barrier()
    a[t] = smem[127 - t]


@cute.kernel
def spilling_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    kept = cute.make_rmem_tensor((300,), cutlass.Float32)
    for i in cutlass.range(300, unroll_full=True):
        kept[i] = a[t + i]
    cute.arch.barrier()
    for i in cutlass.range(300, unroll_full=True):
        a[t + i] = kept[i] * kept[(i * 7) % 300]


@cute.kernel
def local_array_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    array = cute.make_rmem_tensor((64,), cutlass.Float32)
    array.fill(0.0)
    for i in cutlass.range(64):
        array[cutlass.Int32(a[i])] = a[t]  # which element is known at run time only, and registers have no addresses
    a[t] = array[cutlass.Int32(a[t + 64])]


@cute.kernel
def printing_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    cute.printf("thread {} has {}", t, a[t])


KERNELS = [double_kernel, wide_kernel, shared_kernel, spilling_kernel, local_array_kernel, printing_kernel]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_the_cubin_is_read_as_ptxas_describes_it(kernel):
    compiled = compile_cute(launch(kernel), [VECTOR])
    said = ptxas.said(compiled.ptx)
    assert f"Used {compiled.registers} registers" in said
    assert f"{compiled.stack_bytes} bytes stack frame" in said


def test_spills_are_told_from_arrays():
    spilling, array = (compile_cute(launch(kernel), [VECTOR]) for kernel in (spilling_kernel, local_array_kernel))
    assert spilling.spill_bytes >= 4 * (300 - 255)
    assert array.stack_bytes >= 64 * 4
    assert array.spill_bytes == 0


def test_shared_memory_threads_and_summary():
    compiled = compile_cute(launch(shared_kernel), [VECTOR])
    assert compiled.smem_bytes == 128 * 4
    assert compiled.threads == 128
    assert str(compiled) == (
        f"sm_80: 128 threads, {compiled.registers} registers, no spills, 512 bytes of shared memory"
    )


def test_the_body_is_what_the_threads_do():
    body = compile_cute(launch(double_kernel), [VECTOR]).body
    assert body.split("\n")[0].split() == ["ld.param.b64", "%rd1,", "[param_0];"]
    assert body.split("\n")[-1].strip() == "ret;"
    assert ".reg" not in body


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


def test_a_torch_tensors_spec():
    assert TensorSpec.like(torch.zeros(3, 4, dtype=torch.bfloat16)) == TensorSpec((3, 4), "bf16")
    assert TensorSpec.like(torch.zeros(3, dtype=torch.int32), dynamic=True) == TensorSpec((3,), "int32", dynamic=True)


def test_a_host_functions_failure_names_its_line():
    @cute.jit
    def host(a: cute.Tensor):
        a[0, 0] = 1.0

    with pytest.raises(CompileFailed, match=r"^line \d+, `a\[0, 0\] = 1.0`: "):
        call_host(host, from_dlpack(np.zeros(3, np.float32)))


def test_instructions():
    names = {kernel: compile_cute(launch(kernel), [VECTOR]).instructions for kernel in (double_kernel, wide_kernel)}
    assert names[double_kernel] == {"ld.global", "st.global"}
    assert names[wide_kernel] == {"ld.global", "st.global", "ld.global.v4", "st.global.v4"}
    assert "bar.sync" in compile_cute(launch(shared_kernel), [VECTOR]).instructions


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_targets(arch):
    assert f".target {arch}\n" in compile_cute(launch(double_kernel), [VECTOR], arch).ptx


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16", "int32"])
def test_dynamic_layouts_take_their_sizes_at_run_time(dtype):
    def parameter_bytes(spec):
        ptx = compile_cute(launch(double_kernel), [spec]).ptx
        return int(re.search(r"\.param .*_param_0\[(\d+)\]", ptx)[1])

    static = TensorSpec((64, 32), dtype)
    dynamic = TensorSpec((64, 32), dtype, dynamic=True)
    assert parameter_bytes(static) == 8  # the address alone
    assert parameter_bytes(dynamic) > 8


def test_order_says_which_mode_is_contiguous():
    seen = []

    @cute.jit
    def host(a: cute.Tensor, b: cute.Tensor):
        seen.extend([str(a.layout), str(b.layout)])
        double_kernel(a).launch(grid=(1, 1, 1), block=(1, 1, 1))

    compile_cute(host, [TensorSpec((8, 4)), TensorSpec((8, 4), order=(0, 1))])
    assert seen == ["(8,4):(4,1)", "(8,4):(1,8)"]


@cute.kernel
def misnamed_kernel(a: cute.Tensor):
    a[0] = undefined_name  # noqa: F821


@cute.kernel
def old_api_kernel(a: cute.Tensor):
    a[cute.thread_idx().x] = 1.0


@cute.kernel
def two_types_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    x = 1
    if t < 3:
        x = a[t]
    a[t] = x


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
    (launch(old_api_kernel), "cute.thread_idx().x", "no attribute 'thread_idx'"),
    (launch(two_types_kernel), "if t < 3", "has type `Int32` on one path and `Float32` on another"),
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
    assert says in message
    assert "\n" not in message
    assert "\x1b" not in message + failure.value.detail
    if quoted:
        assert message.startswith(f"line {failure.value.line}, `")
        assert quoted in message


def test_after_a_failure_the_next_compilation_is_as_ever():
    with pytest.raises(CompileFailed):
        compile_cute(launch(wrong_rank_kernel), [VECTOR])
    assert compile_cute(launch(double_kernel), [VECTOR]).registers > 0


@cute.kernel
def placeholder_kernel(a: cute.Tensor):
    raise NotImplementedError("Exercise 04.2")


@cute.kernel
def placeholder_in_branch_kernel(a: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    if t < 3:
        raise NotImplementedError("Exercise 04.2")


@ct.kernel
def placeholder_cutile(a):
    raise ct.static_exception(NotImplementedError("Exercise 06.1"))


@pytest.mark.parametrize("kernel", [placeholder_kernel, placeholder_in_branch_kernel])
def test_an_unwritten_answer_says_so(kernel):
    with pytest.raises(NotImplementedError, match=r"^Exercise 04\.2$"):
        compile_cute(launch(kernel), [VECTOR])


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
    with pytest.raises(CompileFailed, match=r"line \d+, `ct.store.*not a power of two"):
        compile_cutile(odd_tile_cutile, [VECTOR])


def test_importing_costs_nothing():
    code = "import sys, tutorlib.compile; sys.exit(bool({'torch', 'cutlass', 'cuda.tile'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
