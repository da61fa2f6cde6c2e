"""torch on a GPU that is not there, and what is launched on it."""

import cutlass
import pytest
import torch
from cutlass import cute
from cutlass.cute.runtime import from_dlpack

from tests.outside.cute import cute_on
from tests.outside.packed import relocate
from tests.outside.pretended_gpu import PretendedGPU, pretended
from tests.outside.runs import apart
from tests.outside.table import all_cases


@pytest.fixture
def gpu():
    with pretended(PretendedGPU((9, 0))) as gpu:
        yield gpu


def test_tensors_know_where_they_are(gpu):
    here = torch.ones(4)
    there = here.to("cuda")
    assert (here.is_cuda, there.is_cuda, (there + 1).is_cuda, there.cpu().is_cuda) == (False, True, True, False)
    assert torch.empty(3, device=there.device).is_cuda
    assert there[1:].device == torch.device("cuda", 0)
    there += 1
    assert here.tolist() == [1] * 4


def test_torch_speaks_of_the_gpu(gpu):
    assert torch.cuda.is_available()
    assert torch.cuda.get_device_capability() == (9, 0)


@cute.kernel
def add_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    y[thread] = x[thread] + y[thread]


@cute.jit
def add(x: cute.Tensor, y: cute.Tensor):
    add_kernel(x, y).launch(grid=(1, 1, 1), block=(32, 1, 1))


def test_a_launch_is_simulated(gpu):
    x, y = torch.arange(32.0, device="cuda"), torch.ones(32, device="cuda")
    with cute_on(gpu, "sm_90a"):
        add(from_dlpack(x), from_dlpack(y))
    assert y.tolist() == [n + 1.0 for n in range(32)]
    assert (gpu.launches, gpu.findings) == (1, [])


@cute.kernel
def beyond_kernel(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    x[thread + 1] = cutlass.Float32(0)


@cute.jit
def beyond(x: cute.Tensor):
    beyond_kernel(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


def test_a_finding_names_the_line(gpu):
    with cute_on(gpu, "sm_90a"):
        beyond(from_dlpack(torch.zeros(32, device="cuda")))
    (finding,) = gpu.findings
    assert "stores tensor0[32], which lies outside tensor0 of shape (32,)" in finding
    assert "`x[thread + 1] = cutlass.Float32(0)`" in finding


def test_an_array_of_pointers_reaches_the_tensors(gpu):
    x = torch.zeros(8, device="cuda")
    pointers = torch.tensor([x.data_ptr() + 16, 5], device="cuda")
    words = torch.tensor([pointers.data_ptr()])
    with torch._C.DisableTorchFunction():
        reached = gpu.reached_from(words.view(torch.uint8).numpy())
        assert [one.start for one in reached] == [pointers.data_ptr(), x.data_ptr()]
        moved = pointers.clone().view(torch.uint8).numpy()
        relocate(moved, [(x.data_ptr(), 32, 4096)])
    assert moved.view("int64").tolist() == [4112, 5]


def test_a_process_that_dies_is_told():
    assert apart(lambda: [1, 2]) == [1, 2]
    with pytest.raises(ChildProcessError):
        apart(lambda: 1 / 0)


@pytest.mark.samples("TUTORLIB_CUTLASS")
@pytest.mark.parametrize("name", ["elementwise_add", "hopper/kernel/dense_gemm/dense_gemm.py"])
def test_an_example_of_nvidias_is_right(name):
    from tests.outside.runs import run_apart

    outcome = run_apart(next(case for case in all_cases() if name in case.name))
    assert (outcome.outcome, outcome.why, outcome.findings) == ("right", "", [])
