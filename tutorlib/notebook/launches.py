"""The cost of launching, as recorded."""

from statistics import median
from typing import TYPE_CHECKING, Any

from tutorlib.measuring.results import DONE, LATER, LAUNCHES, PAIRS, TORCH, records

if TYPE_CHECKING:
    from pandas import DataFrame


def host_time(us: float) -> str:
    """Microseconds in a readable unit: "242 ms", "7.4 ms", "8.9 µs", "0.12 µs"."""
    if us >= 1e4:
        return f"{us / 1000:,.0f} ms"
    if us >= 100:
        return f"{us / 1000:,.1f} ms"
    return f"{us:.1f} µs" if us >= 1 else f"{us:.2f} µs"


def show_later_calls(gpu: str = "") -> "DataFrame | None":
    """The cost of a launch in each way of keeping the kernel, beside torch's own, on a GPU of this name.

    host: host time; until done: until the GPU is done, in a sequence of many launches.
    """
    import pandas

    for name, found in recorded(LATER, gpu):
        print(name)
        return pandas.DataFrame.from_dict(later_rows(found), orient="index").fillna("")
    return None


def recorded(part: str, gpu: str = "") -> list[tuple[str, dict[str, Any]]]:
    """(GPU and date, recording of launches) of each that has this part; a line where none has."""
    found = [
        (f"{recording['machine']['gpu']}, {recording['date']}", recording)
        for recording in records(LAUNCHES)
        if part in recording and gpu in recording["machine"]["gpu"]
    ]
    if not found:
        print("Nothing was recorded yet: run `tutor sweep launches` on a machine with a GPU.")
    return found


def later_rows(found: dict[str, Any]) -> dict[str, dict[str, str]]:
    rows = {}
    for way, us in found[LATER].items():
        factor = us / found[LATER][TORCH]
        rows[way] = {"host": host_time(us), f"÷ {TORCH}": f"{float(f'{factor:.2g}'):,g}"}
        if us := found.get(DONE, {}).get(way):
            rows[way]["until done"] = host_time(us)
    return rows


def show_pairs(gpu: str = "") -> None:
    """The time of two kernels that depend on each other, by the way in which the second is launched."""
    for name, found in recorded(PAIRS, gpu):
        print(f"{name}: µs of two kernels, median (range) of the rounds")
        for way, times in found[PAIRS].items():
            print(f"  {way:30}", ", ".join(f"{where} {with_range(rounds)}" for where, rounds in times.items()))


def with_range(rounds: list[float]) -> str:
    return f"{median(rounds):.2f}" + (f" ({min(rounds):.2f} to {max(rounds):.2f})" if len(rounds) > 1 else "")
