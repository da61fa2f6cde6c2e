"""The cost of launches: `tutor sweep launches`.

What a call costs the host in each way of keeping compiled kernels, and what PDL gains. Two minutes.
The times go to figures/data/sweeps/GPU_launches.json.
"""

import time
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import cutlass
import torch
from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.runtime import from_dlpack, make_fake_stream
from torch import Tensor

from tutorlib.instruments.sweep import in_a_process
from tutorlib.kernels.compiled_once import CompiledKernels, cache_key, for_torch
from tutorlib.kernels.dependent import THREADS, launch_pair
from tutorlib.kernels.doubling import double
from tutorlib.machine import device
from tutorlib.machine.device import this_machine
from tutorlib.measuring.results import DONE, LATER, LAUNCHES, PAIRS, TORCH, sweep_file, write_json
from tutorlib.measuring.timing import host_us
from tutorlib.problems.work import Call

SIZE = 1024  # elements of the vector: next to no work
ROUNDS = 5


def vectors() -> tuple[Tensor, Tensor]:
    return torch.ones(SIZE, device="cuda"), torch.zeros(SIZE, device="cuda")


def views(*tensors: Tensor) -> list[Any]:
    """As the compiled function takes them without TVM-FFI, with torch's current stream."""
    converted = [from_dlpack(tensor, assumed_align=16).mark_layout_dynamic() for tensor in tensors]
    return [*converted, CUstream(torch.cuda.current_stream().cuda_stream)]


def ways_to_call(x: Tensor, y: Tensor) -> dict[str, tuple[Call, int, int]]:
    """Every way to have y = 2x: name → (a call, the number of calls in a round, the launches that each makes).

    The last is torch's own.
    """
    arch = device.compile_target()

    def through_dlpack(*tensors: Tensor) -> Callable[..., None]:
        compiled = cute.compile(double, *views(*tensors))
        return lambda *given: compiled(*views(*given))

    def ffi(*tensors: Tensor) -> Callable[..., None]:
        return for_torch(double, *tensors, make_fake_stream(use_tvm_ffi_env_stream=True))

    def key(*tensors: Tensor) -> Any:
        return cache_key(tensors, (), arch)

    kept, kept_ffi = CompiledKernels(through_dlpack, key), CompiledKernels(ffi, key)
    compiled, ready, launch = cute.compile(double, *views(x, y)), views(x, y), ffi(x, y)
    return {
        "compiled at every call": (lambda: through_dlpack(x, y)(x, y), 3, 1),
        "called directly: traced at every call": (lambda: double(*views(x, y)), 10, 1),
        "kept in a dictionary, through DLPack": (lambda: kept(x, y), 200, 1),
        "kept, with views made once": (lambda: compiled(*ready), 200, 1),
        "kept in a dictionary, TVM-FFI": (lambda: kept_ffi(x, y), 200, 1),
        "kept, TVM-FFI": (lambda: launch(x, y), 200, 1),
        "CUDA graph of 1 launch": (graph_of(lambda: launch(x, y), 1), 200, 1),
        "CUDA graph of 20 launches": (graph_of(lambda: launch(x, y), 20), 50, 20),
        TORCH: (lambda: torch.add(x, x, out=y), 200, 1),
    }


def graph_of(call: Call, times: int) -> Call:
    """The replay of a CUDA graph of `times` such calls."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            call()
    return graph.replay


def time_ways() -> dict[str, dict[str, float]]:
    """µs of a launch in each way, medians of rounds in turn: of the host's time, and until the GPU is done with it.

    Each result is checked.
    """
    x, y = vectors()
    ways = ways_to_call(x, y)
    times: dict[str, dict[str, list[float]]] = {LATER: {name: [] for name in ways}, DONE: {name: [] for name in ways}}
    for _ in range(ROUNDS):
        for name, (call, calls, launches) in ways.items():
            y.zero_()
            call()
            torch.testing.assert_close(y, 2 * x, msg=name)
            times[LATER][name].append(host_us(call, calls) / launches)
            times[DONE][name].append(done_us(call, calls) / launches)
    return {what: {name: round(median(found), 2) for name, found in each.items()} for what, each in times.items()}


@cute.kernel
def scale_kernel(w: Any, y: Any, waits: cutlass.Constexpr) -> None:
    """waits: how many of its two tensors it loads before it waits; none: it does not wait."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if cutlass.const_expr(waits == 0):
        cute.arch.griddepcontrol_wait()
    weights = w[None, i].load()
    if cutlass.const_expr(waits == 1):
        cute.arch.griddepcontrol_wait()
    y[None, i].store(y[None, i].load() * weights)


def pair_of(waits: int | None) -> Callable[..., None]:
    """waits: as of `scale_kernel`; None: it neither waits nor starts early."""

    @cute.jit
    def host(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, stream: CUstream) -> None:
        launch_pair(x, w, y, partial(scale_kernel, waits=waits), waits is not None, stream=stream)

    return host


def time_pairs() -> dict[str, dict[str, list[float]]]:
    """µs of two kernels in a row, in each of some rounds in turn: a pair in a stream, and one of 20 in a graph."""
    x, w = torch.randn(2, 16, 8 * 132 * THREADS, device="cuda")
    y, calls = torch.zeros_like(x), dict[str, Call]()
    for way, waits in {"without PDL": None, "PDL, waits first": 0, "PDL, waits after its weights": 1}.items():
        static = [from_dlpack(one, enable_tvm_ffi=True) for one in (x, w, y)]
        stream = make_fake_stream(use_tvm_ffi_env_stream=True)
        calls[way] = partial(cute.compile(pair_of(waits), *static, stream, options="--enable-tvm-ffi"), x, w, y)
        calls[way]()
        torch.testing.assert_close(y, x.clamp(min=0) * w)
    runs = {(way, "in a stream"): (call, 200, 1) for way, call in calls.items()}
    runs |= {(way, "in a graph"): (graph_of(call, 20), 50, 20) for way, call in calls.items()}
    rounds = [{run: done_us(call, n) / pairs for run, (call, n, pairs) in runs.items()} for _ in range(ROUNDS)]
    return {way: {w: [round(one[way, w], 2) for one in rounds] for w in ("in a stream", "in a graph")} for way in calls}


def done_us(call: Call, calls: int) -> float:
    """The time of a call until its kernels have run, in a series of many, in µs."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / calls * 1e6


def record() -> Path:
    """Measure all of it, and write this GPU's file. Raises Failed."""
    data = {"machine": this_machine(), "date": date.today().isoformat(), **in_a_process(time_ways)}
    data[PAIRS] = in_a_process(time_pairs)
    return write_json(sweep_file(device.need_gpu().name, LAUNCHES), data)
