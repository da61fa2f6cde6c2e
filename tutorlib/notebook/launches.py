"""The cost of compiling and of launching, measured on the reader's machine and as recorded."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from tutorlib.measuring.results import DONE, LATER, LAUNCHES, READY, TORCH, records
from tutorlib.notebook.stages import Stages, compile_in_stages

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T")
STAGES = {
    "trace": "tracing",
    "lower": "lowering",
    "machine_code": "machine code",
    "host_code": "host code",
}
NOTHING = "Nothing was recorded yet: run `tutor sweep launches` on a machine with a GPU."


def show_stages(name: str, host: Callable[..., None], *args: Any, arch: str = "sm_90a") -> Stages:
    """Compile a @cute.jit function for a target now, and print the time of each stage."""
    _, stages = compile_in_stages(host, *args, options=f"--gpu-arch {arch}")
    parts = [f"{said} {host_time(getattr(stages, part))}" for part, said in STAGES.items() if getattr(stages, part, 0)]
    print(f"{name}: {', '.join(parts)}")
    return stages


def host_time(us: float) -> str:
    """Microseconds in a readable unit: "242 ms", "7.4 ms", "8.9 µs", "0.12 µs"."""
    if us >= 1e4:
        return f"{us / 1000:,.0f} ms"
    if us >= 100:
        return f"{us / 1000:,.1f} ms"
    return f"{us:.1f} µs" if us >= 1 else f"{us:.2f} µs"


def machine_of(found: dict[str, Any]) -> str:
    return f"{found['machine']['gpu']}, {found['date']}"


def show_later_calls() -> "DataFrame | None":
    """The cost of a launch in each way of keeping the kernel, beside torch's own, for each GPU.

    host: host time; until done: until the GPU is done, in a sequence of many launches.
    """
    import pandas

    tables = by_machine(LATER, lambda found: pandas.DataFrame.from_dict(later_rows(found), orient="index"))
    return pandas.concat(tables, axis="columns").fillna("") if tables else None


def by_machine(part: str, table: Callable[[dict[str, Any]], T]) -> dict[str, T]:
    """The table of each machine that has recorded this part; a line where none has."""
    tables = {machine_of(found): table(found) for found in records(LAUNCHES) if part in found}
    if not tables:
        print(NOTHING)
    return tables


def later_rows(found: dict[str, Any]) -> dict[str, dict[str, str]]:
    later, done = found[LATER], found.get(DONE, {})
    return {
        way: {"host": host_time(us), f"of {TORCH}": times(us / later[TORCH])}
        | ({"until done": host_time(done[way])} if way in done else {})
        for way, us in later.items()
    }


def times(ratio: float) -> str:
    """A factor for a table: "×0.77", "×10,702"."""
    return f"×{ratio:,.0f}" if ratio >= 100 else f"×{ratio:.2f}"


def show_new_processes() -> None:
    """The time until a kernel is ready in a new process: compiled, and loaded from a file."""
    shown = [
        f"{machine_of(found)}: {', '.join(f'{how} {host_time(us)}' for how, us in found[READY].items())}"
        for found in records(LAUNCHES)
        if READY in found
    ]
    print("\n".join(shown) or NOTHING)
