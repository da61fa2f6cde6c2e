"""Hardware counters of kernels, read by Nsight Compute."""

import csv
import shutil
import subprocess
from collections.abc import Callable, Sequence

from tutorlib.paths import ROOT

TIME_LIMIT_S = 300  # a kernel is run once for each group of counters that the GPU can count together

# Sums over all SMs, but for the last five.
MEMORY_READ = "dram__bytes_read.sum"
SHARED_READ = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"  # wavefronts
SHARED_WRITTEN = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
TO_SMS = "l1tex__m_xbar2l1tex_read_bytes.sum"  # bytes that reach SMs, each copy of a multicast for itself
TENSOR_BUSY = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"  # percent of an SM's cycles
BLOCK_SIZE = "launch__block_size"  # threads
STALLED = "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"  # warps that wait for memory
SM_CLOCK = "sm__cycles_elapsed.avg.per_second"
WAVES = "launch__waves_per_multiprocessor"  # blocks of the launch, over those that run at the same time


class NoCounters(RuntimeError):
    """Nsight Compute counted nothing. The message is its complaint, in one line."""


def count(
    command: Sequence[str], metrics: Sequence[str], kernel: str = "", marked: bool = False
) -> list[dict[str, float]]:
    """Run a command under ncu: the metrics of each launch of a kernel whose name contains `kernel`, in order.

    marked: only what is launched between torch.cuda.profiler.start() and stop(), as `launch_marked` does.
    Bytes are bytes, times nanoseconds. The clocks stay as they are, so times are what they are outside ncu.
    Raises NoCounters.
    """
    if shutil.which("ncu") is None:
        raise NoCounters("ncu is not on the path: Nsight Compute comes with the CUDA toolkit")
    options = ["--csv", "--page=raw", "--print-units=base", "--clock-control=none", f"--metrics={','.join(metrics)}"]
    if marked:
        options.append("--profile-from-start=off")
    done = subprocess.run(
        ["ncu", *options, f"--kernel-name=regex:{kernel}", *command],
        cwd=ROOT, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    rows = list(csv.DictReader(line for line in lines if line.startswith('"')))[1:]  # the first has the units
    if done.returncode or not rows:
        complaints = [line for line in lines + done.stderr.splitlines() if "ERROR" in line or "WARNING" in line]
        raise NoCounters(complaints[0] if complaints else f"no kernel named {kernel!r} was launched")
    missing = [metric for metric in metrics if metric not in rows[0]]
    if missing:
        raise NoCounters(f"this GPU does not count {', '.join(missing)}")
    return [{metric: float(row[metric].replace(",", "")) for metric in metrics} for row in rows]


def launch_marked(calls: Sequence[Callable[[], None]]) -> None:
    """Each call twice, the second time for ncu to look at."""
    import torch

    for call in calls:
        call()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    for call in calls:
        call()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()
