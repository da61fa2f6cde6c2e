"""The DSL's functions during a rehearsal, for each GPU generation.

An instruction set says, by module and name of the DSL, which method of the machine carries out the instruction, or what
stands in its place.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pkgutil import resolve_name
from typing import Any

from tutorlib.checking.plain_python import instead_of, plain_loops
from tutorlib.checking.rehearsing.pipeline_state import call_helper
from tutorlib.checking.rehearsing.plain_state import PLAIN_STATE
from tutorlib.checking.rehearsing.unsafe import Unsafe
from tutorlib.dsl.cute.functions import calls_of_helpers

InstructionSet = dict[str, dict[str, Any]]


def nothing(*arguments: Any, **hints: Any) -> None:
    """What no rehearsal looks at."""


SILENT: InstructionSet = {"cutlass.cute": {"printf": nothing}}
FENCES = (*(f"fence_acq_rel_{scope}" for scope in ("cta", "cluster", "gpu", "sys")), "fence_proxy", "sync_warp")
WARP: dict[str, Any] = {"make_warp_uniform": lambda value: value, **dict.fromkeys(FENCES, nothing)}
MBARRIERS: dict[str, Any] = WARP | {
    "mbarrier_wait": "mbarrier_wait",
    "mbarrier_try_wait": "mbarrier_try_wait",
    "mbarrier_test_wait": "mbarrier_try_wait",
    "mbarrier_conditional_try_wait": "mbarrier_conditional_try_wait",
    "mbarrier_arrive": "mbarrier_arrive",
    "mbarrier_arrive_and_expect_tx": "mbarrier_arrive_and_expect_tx",
    "mbarrier_expect_tx": "mbarrier_expect_tx",
    "elect_one": "elect_one",
    "thread_idx": "thread_idx",
    "lane_idx": "lane_idx",
    "warp_idx": "warp_idx",
}
BLOCK_BARRIER = {"sync_threads": "meet", "barrier": "meet"}

AMPERE: InstructionSet = {  # cp.async, in groups that each thread commits and waits for
    "cutlass.cute.arch": WARP
    | {
        "cp_async_commit_group": "commit",
        "cp_async_wait_group": "wait",
        "sync_threads": "barrier",
        "barrier": "barrier",
        "thread_idx": "thread_idx",
        "warp_idx": "warp_idx",
        "lane_idx": "lane_idx",
    },
    "cutlass": {"range_constexpr": "unrolling"},
}
HOPPER: InstructionSet = {  # TMA, mbarriers, and wgmma in groups
    "cutlass.cute.arch": MBARRIERS | BLOCK_BARRIER,
    "cutlass.cute.nvgpu.warpgroup": {"fence": "fence", "commit_group": "commit", "wait_group": "retire"},
    "cutlass": {"range_constexpr": "unrolling"},
    "cutlass.pipeline:PipelineState": PLAIN_STATE,
}
BLACKWELL: InstructionSet = {  # TMA, mbarriers, and tcgen05, whose commits arrive at mbarriers
    "cutlass.cute.arch": MBARRIERS
    | {
        "fence_view_async_tmem_load": "await_read",
        "fence_view_async_tmem_store": lambda: None,  # of tcgen05.st, which no role has
        "cp_async_bulk_wait_group": nothing,  # the simulator counts these
    },
    "cutlass.cute.nvgpu.tcgen05": {"commit": "tcgen05_commit"},
    "tutorlib.dsl.cute.instructions": {"fence_before": "fence_before"},
    "cutlass": {"range_constexpr": "unrolling"},
    "cutlass.pipeline:PipelineState": PLAIN_STATE,
}
TENSOR_MEMORY: InstructionSet = {  # Blackwell's, for the warps that allocate and free
    "cutlass.cute.arch": BLOCK_BARRIER
    | {
        "alloc_tmem": "alloc",
        "relinquish_tmem_alloc_permit": "relinquish",
        "retrieve_tmem_ptr": "retrieve",
        "dealloc_tmem": "dealloc",
        "elect_one": "elect_one",
        "make_warp_uniform": WARP["make_warp_uniform"],
        "warp_idx": "warp_idx",
        "barrier": "named_barrier",
    },
}


@contextmanager
def without_compiler(machine: Any, instruction_set: InstructionSet, *functions: Callable[..., Any]) -> Iterator[None]:
    """Loops, conditions and helpers of these functions are Python's, and a machine carries out their instructions.

    An Unsafe raised in the block also names a possible cause that the instructions do not show.
    """
    notes: list[str] = []
    names = {**SILENT, **instruction_set, "cutlass": {**plain_loops(), **instruction_set.get("cutlass", {})}}
    modules = [
        (resolve_name(module), {name: carried_out_by(machine, value) for name, value in new.items()})
        for module, new in names.items()
    ]
    try:
        with instead_of([*modules, calls_of_helpers(partial(call_helper, notes))], *functions):
            yield
    except Unsafe as unsafe:
        raise Unsafe(unsafe.args[0] + "".join(f"\n{note}" for note in dict.fromkeys(notes))) from None


def carried_out_by(machine: Any, value: Any) -> Any:
    """The method of this name, or what stands in its place."""
    return getattr(machine, value) if isinstance(value, str) else value
