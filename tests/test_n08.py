"""Notebook 08: what the page says of the compiler, and Tile C++ from a string to a launch."""

import ctypes
import re
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from tests.test_kernel import H200, measurement
from tests.wrong.n08_tile_cpp import ADD, FIRST, PROMISING, TOO_SLOW, WRONG_ON_GPU
from tutorlib import cpp_exercise, device, launch, targets, tile_cpp
from tutorlib.build import parse
from tutorlib.compile import CompileFailed
from tutorlib.course import SOLUTIONS
from tutorlib.cpp_exercise import launch_each, profile, race
from tutorlib.exercises import find
from tutorlib.exercises.n08_tile_cpp import Variant, blocks_of, in_tiles, tma_carries
from tutorlib.kernel import KernelExercise
from tutorlib.problem import vector_add
from tutorlib.tile_cpp import Remark, compile_cpp, failure, loaded, remarks, run_cpp, wrong_parameters

needs_gpu = pytest.mark.skipif(device.gpu() is None, reason="needs a GPU")
without_gpu = pytest.mark.skipif(device.gpu() is not None, reason="what a machine without a GPU says")


@pytest.fixture(scope="module")
def page():
    """The solved notebook's functions, by name."""
    names = {}
    for cell in parse(SOLUTIONS / "08_tile_cpp.py"):
        if cell.kind == "code" and re.search(r"(?m)^(def|import|from) ", cell.solved):
            exec(cell.solved, names)
    return names


@pytest.fixture
def nothing_kept(tmp_path, monkeypatch):
    """No kernel was compiled before: an empty cache on disk, none in memory."""
    monkeypatch.setattr(tile_cpp.platformdirs, "user_cache_path", lambda name: tmp_path / name)
    compile_cpp.cache_clear()
    yield
    compile_cpp.cache_clear()


# What the page says of the compiler -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arch", "has"),
    [
        ("sm_80", {"mma.sync", "cp.async"}),
        ("sm_90", {"wgmma", "cp.async.bulk.tensor"}),
        ("sm_100", {"tcgen05", "cp.async.bulk.tensor"}),
    ],
)
def test_the_persistent_gemm_compiles_for_each_family(page, arch, has):
    assert has <= compile_cpp(page["persistent_gemm"](), arch).instructions


@pytest.mark.parametrize("sizes", [(96, 64, 40), (96, 60, 40), (96, 64, 36)])
def test_what_tma_carries_is_what_the_compiler_says(sizes):
    compiled = compile_cpp(Variant(divisible=0, sizes=sizes).source)
    lines = compiled.source.split("\n")
    carried = {lines[remark.line - 1] for remark in compiled.remarks if remark.text.startswith("TMA")}
    by_tma = "".join(name for name in "abc" if any(f"{name.upper()}." in line for line in carried))
    assert by_tma == tma_carries(*sizes, 2)


def test_without_restrict_every_load_waits_for_the_one_before(page):
    assert page["fetching"](compile_cpp(PROMISING)) == "wait → load → load"
    assert page["fetching"](compile_cpp(Variant(restrict=False).source)) == "wait → load → wait → load → wait"


def test_a_large_tile_spills_and_eight_warps_mend_it():
    large = (128, 256, 64)
    assert compile_cpp(Variant(large, group=8).source).stack_bytes > 1000
    assert compile_cpp(Variant(large, group=8, hints="num_worker_warps_per_cta=8").source).stack_bytes == 0


def instructions(compiled):
    """The PTX without its comments, which have the Tile IR."""
    return [line for line in compiled.ptx.split("\n") if not line.startswith(("//", "%", "\t.loc"))]


@pytest.mark.parametrize("source", [ADD, PROMISING], ids=["add", "gemm"])
def test_a_store_without_a_mask_is_the_same_code_so_it_is_no_wrong_answer(source):
    unmasked = source.replace("C.store_masked", "C.store")
    assert unmasked != source
    assert instructions(compile_cpp(unmasked)) == instructions(compile_cpp(source))


# From a string to a kernel --------------------------------------------------------------------------------------


def test_the_remarks_stand_at_the_readers_lines():
    compiled = compile_cpp("\n\n    " + FIRST.strip().replace("\n", "\n    ") + "\n")
    loads = next(n for n, line in enumerate(compiled.source.split("\n"), 1) if "A.load" in line)
    at_load = [remark.text for remark in compiled.remarks if remark.line == loads]
    assert at_load == [
        "Failed to select TMA load instruction: base pointer not 16-byte aligned",
        "Global-memory load instruction",
    ]
    assert f"{loads:3}  auto x = A.load_masked(i, step);\n       → Failed" in compiled.remarked


def test_remarks_are_read_once_each():
    said = """
      category: Tensor-core
        remark[passed]: MMA operation successfully optimized to use Tensor Cores
          --> "/tmp/kernel.cu":16:11
           = name: RemarkTensorCoreMMA
           = note: Instruction = Tensor-core SM90
           = note: Shape = [64, 128, 16]
        remark[failed]: Failed to select TMA load instruction
          --> "/tmp/kernel.cu":14:14
           = reason: loc("/tmp/kernel.cu":14:14): stride not 16-byte aligned
    """
    assert remarks(said + said) == (
        Remark(14, "Failed to select TMA load instruction: stride not 16-byte aligned"),
        Remark(16, "Tensor-core SM90 64×128×16"),
    )


def test_parameters():
    assert compile_cpp(ADD).parameters == ("ptr", "ptr", "ptr", "u32")
    assert wrong_parameters(compile_cpp(ADD), 3, 1) is None
    assert "should be pointer, pointer, integer; yours are pointer, pointer, pointer, integer" in wrong_parameters(
        compile_cpp(ADD), 2, 1
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("A.load_masked", "A.laod", 6, 'has no member "laod"'),
        ("1024_ic", "1000_ic", 2, "ct::extents<1000>)"),
        ("int i", "int i int", 5, 'expected a ";"'),
        ("B.load_masked(i)", "ct::zeros<ct::tile<float, ct::shape<8>>>()", 6, "no operator"),
    ],
)
def test_an_error_is_told_at_the_readers_line(old, new, line, says):
    with pytest.raises(CompileFailed) as caught:
        compile_cpp(ADD.replace(old, new))
    assert caught.value.line == line
    assert ADD.replace(old, new).strip().split("\n")[line - 1].strip() in str(caught.value)
    assert says in str(caught.value)
    assert "__1" not in str(caught.value)


def test_an_error_in_a_header_is_told_at_the_line_that_caused_it():
    said = (
        "cuda_tile.h(2922): error: static assertion failed\n  detected during instantiation of x at line 2 of kernel.cu"
    )
    told = failure(said, "one\n  two\nthree")
    assert (told.line, str(told)) == (2, "line 2, `two`: static assertion failed")


@pytest.mark.parametrize(
    ("source", "count"), [("", 0), ("__global__ void f() {}", 0), (ADD + ADD.replace("_add", ""), 2)]
)
def test_a_source_has_one_kernel(source, count):
    with pytest.raises(CompileFailed, match=f"has {count} __tile_global__ functions"):
        compile_cpp(source)


def test_a_source_is_compiled_once(nothing_kept, monkeypatch):
    first = compile_cpp(ADD)
    compile_cpp.cache_clear()
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: pytest.fail("compiled again"))
    assert compile_cpp(ADD) == first
    assert compile_cpp(ADD).remarks == first.remarks
    with pytest.raises(pytest.fail.Exception):
        compile_cpp(ADD.replace("1024", "2048"))


def test_without_a_host_compiler(nothing_kept, monkeypatch):
    tile_cpp.nvcc_path.cache_clear()
    monkeypatch.setattr(tile_cpp.shutil, "which", lambda name: None)
    outcome = find("08.1").grade(lambda: ADD)
    assert outcome.status == "not_run"
    assert outcome.message == (
        "– 08.1 vector_add: not run: nvcc needs a C++ compiler, and there is no gcc here "
        "(Debian, Ubuntu: apt install g++)"
    )


def test_without_nvcc(nothing_kept, monkeypatch):
    def missing(name):
        raise tile_cpp.metadata.PackageNotFoundError(name)

    tile_cpp.nvcc_path.cache_clear()
    monkeypatch.setattr(tile_cpp.metadata, "files", missing)
    outcome = find("08.1").grade(lambda: ADD)
    assert outcome.status == "not_run"
    assert "nvcc is missing: pip install nvidia-cuda-nvcc" in outcome.message


# Exercises ------------------------------------------------------------------------------------------------------


def cases(answers):
    return [pytest.param(id, answer, id=f"{id}-{answer.__name__}") for id in answers for answer in answers[id]]


@without_gpu
@pytest.mark.parametrize(("id", "answer"), cases(WRONG_ON_GPU) + cases(TOO_SLOW))
def test_wrong_kernels_compile_so_that_only_a_run_tells(id, answer):
    outcome = find(id).grade(answer)
    assert outcome.status == "not_run", outcome.message


@needs_gpu
@pytest.mark.parametrize(("id", "answer"), cases(WRONG_ON_GPU))
def test_a_wrong_kernel_loses_points_on_a_gpu(id, answer):
    outcome = find(id).grade(answer)
    assert outcome.status in ("failed", "partial")
    assert outcome.points < outcome.max_points


@needs_gpu
@pytest.mark.parametrize(("id", "answer"), cases(TOO_SLOW))
def test_a_slow_kernel_loses_points_on_a_calibrated_gpu(id, answer):
    if targets.target(f"sm_{device.gpu().arch}", id) is None:
        pytest.skip("nobody has calibrated this GPU")
    outcome = find(id).grade(answer)
    assert outcome.status == "partial"
    assert find(id).correctness_points <= outcome.points < outcome.max_points


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda: 3, "it should return the source, a string; it returns 3."),
        (lambda: 1 // 0, "ZeroDivisionError"),
        ("source", "is not a function that returns the source"),
    ],
)
def test_an_answer_that_returns_no_source(answer, says):
    outcome = find("08.2").grade(answer)
    assert (outcome.status, outcome.points) == ("failed", 0)
    assert says in outcome.message


def test_what_a_gemm_without_tma_hears():
    message = find("08.4").grade(lambda: FIRST).message
    assert "not every load and store goes by TMA" in message
    assert "base pointer not 16-byte aligned" in message


class OnTorch:
    """Stands in for a GPU: `loaded` gives a function of torch tensors on the CPU in place of the kernel."""

    def __init__(self, monkeypatch, kernel=None):
        self.launches, self.kernel = [], kernel
        monkeypatch.setattr(device, "gpu", lambda: H200)
        monkeypatch.setattr(launch, "DEVICE", "cpu")
        monkeypatch.setattr(launch, "guarded", lambda run, seconds: run())
        monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: None)
        monkeypatch.setattr("tutorlib.kernel.context_broken", lambda: False)
        monkeypatch.setattr(cpp_exercise, "loaded", self.loaded)

    def loaded(self, compiled, grid, args):
        self.launches.append((compiled.arch, grid, args[-3:]))
        return lambda: self.kernel(*args)


def test_a_right_kernel_is_launched_on_every_size(monkeypatch):
    gpu = OnTorch(monkeypatch, lambda a, b, c, m, n, k: torch.mm(a, b.mT, out=c))
    outcome = find("08.2").grade(lambda: FIRST)
    assert (outcome.status, outcome.points) == ("passed", 3)
    assert gpu.launches == [
        ("sm_90", (2, 2), (256, 256, 256)),
        ("sm_90", (3, 2), (300, 200, 129)),
        ("sm_90", (1, 5), (70, 513, 96)),
    ]


def test_a_kernel_that_is_right_without_a_tail_is_partly_right(monkeypatch):
    OnTorch(monkeypatch, lambda a, b, c, m, n, k: torch.mm(a[:, : k // 64 * 64], b[:, : k // 64 * 64].mT, out=c))
    outcome = find("08.2").grade(lambda: FIRST)
    assert outcome.status == "partial"
    assert "1 of 3 sizes right" in outcome.message


def test_what_the_driver_refuses_is_told(monkeypatch):
    def refused(*args):
        raise RuntimeError("too many resources requested for launch")

    OnTorch(monkeypatch)
    monkeypatch.setattr(cpp_exercise, "loaded", refused)
    monkeypatch.setattr("tutorlib.fault.context_broken", lambda: False)
    outcome = find("08.2").grade(lambda: FIRST)
    assert outcome.status == "failed"
    assert "a block asks for more registers" in outcome.message


def test_the_persistent_gemm_gets_a_block_for_each_multiprocessor(monkeypatch):
    monkeypatch.setattr(device, "gpu", lambda: H200)
    assert find("08.5").grid((4096, 4096, 4096)) == (132,)


def test_a_race_says_how_fast(monkeypatch, capsys):
    OnTorch(monkeypatch)
    monkeypatch.setattr(KernelExercise, "measure", lambda *args: measurement(0.9))
    race(vector_add("fp32"), (2**20,), {"tiles of 64": (in_tiles(64), blocks_of(64))})
    assert capsys.readouterr().out.rstrip().endswith("500.0 µs, 0.90 of torch copy_")


def test_what_nsight_compute_counts_is_a_table(monkeypatch, capsys):
    def count(command, metrics, kernel):
        assert command[1:4] == ["-m", "tutorlib.cpp_exercise", "08.4"]
        return [dict(zip(metrics, (128, 3_665_000, 12.34, 30.1), strict=True))]

    monkeypatch.setattr(device, "gpu", lambda: H200)
    monkeypatch.setattr(cpp_exercise, "count", count)
    profile({"nothing promised": ("08.4", FIRST)})
    title, row = capsys.readouterr().out.splitlines()
    assert title.split() == ["threads", "µs", "%", "of", "peak", "stalled"]
    assert row.split() == ["nothing", "promised", "128.0", "3,665.0", "12.3", "30.1"]


def test_a_launch_for_a_profiler(monkeypatch, tmp_path):
    gpu = OnTorch(monkeypatch, lambda *args: None)
    monkeypatch.setattr("tutorlib.exercises.find", lambda id: replace(find(id), bench_shape=(256, 128, 64)))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    (tmp_path / "gemm.cu").write_text(PROMISING)
    launch_each(["08.4", str(tmp_path / "gemm.cu"), "08.5", str(tmp_path / "gemm.cu")])
    assert gpu.launches == [("sm_90", (2, 1), (256, 128, 64)), ("sm_90", (132,), (256, 128, 64))]


def test_a_launch_hands_over_the_arguments(monkeypatch):
    """Pointers as 64 bits, sizes as the kernel's own integers: what the driver gets from cuda-bindings."""
    from cuda.bindings import driver

    calls = []
    good = driver.CUresult.CUDA_SUCCESS
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=7))
    monkeypatch.setattr(driver, "cuModuleLoadData", lambda cubin: (good, "module"))
    monkeypatch.setattr(driver, "cuModuleGetFunction", lambda module, name: (good, name))
    monkeypatch.setattr(driver, "cuLaunchKernel", lambda *args: calls.append(args) or (good,))
    a, b, c = (torch.zeros(8) for _ in range(3))
    loaded(compile_cpp(ADD), (3,), (a, b, c, 8))()
    pointers = tuple(x.data_ptr() for x in (a, b, c))
    kinds = (ctypes.c_void_p,) * 3 + (ctypes.c_int32,)
    assert calls == [(b"_Z10vector_addPKfS0_Pfi", 3, 1, 1, 1, 1, 1, 0, 7, ((*pointers, 8), kinds), 0)]


@without_gpu
def test_a_page_without_a_gpu(capsys):
    assert not run_cpp(ADD, (1,), *(torch.zeros(8) for _ in range(3)), 8)
    assert capsys.readouterr().out.startswith("compiled, not run: ")
    with pytest.raises(CompileFailed, match="parameters should be"):
        run_cpp(ADD, (1,), torch.zeros(8), 8)
    race(vector_add("fp32"), (2**20,), {"tiles of 64": (in_tiles(64), blocks_of(64))})
    assert "their speed: not run: " in capsys.readouterr().out
    profile({"": ("08.1", ADD)})
    assert capsys.readouterr().out.startswith("not counted: ")
