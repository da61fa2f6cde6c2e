"""A kernel's time, added up from timestamps inside it, with what they leave unaccounted for."""

from math import ceil

from tutorlib.measuring.results import Point, SweepResults, known_sweeps
from tutorlib.models.hopper_gemm import count_waves
from tutorlib.models.work import Sm

TRACED = "cooperative"  # of hopper_timeline
SAME = "warp-specialized + persistent"  # its name in hopper_levers
FLOPS = 4_096  # of an SM's tensor cores in a cycle, bf16
LARGE, SMALL = (4096,) * 3, (2048,) * 3


def show_budget() -> None:
    """The time of *cooperative* at 4096³ with timestamps, and at 2048³ by the same cycles, for each GPU."""
    untraced = {swept.gpu: point_of(swept, SAME, SMALL) for swept in known_sweeps("hopper_levers")}
    for swept in known_sweeps("hopper_timeline"):
        traced, small = point_of(swept, TRACED, LARGE), untraced.get(swept.gpu)
        if traced and small:
            packages = swept.machine["packages"]
            print(f"{swept.gpu}, driver {swept.machine['driver']}, torch {packages['torch']} with its cuBLAS")
            print("\n".join(budget(traced, small)))


def point_of(swept: SweepResults, name: str, shape: tuple[int, ...]) -> Point | None:
    return next((point for point in swept.of_kernel(name) if point.measurement.shape == shape), None)


def budget(traced: Point, small: Point) -> list[str]:
    """Lines of a table in µs.

    traced: with timestamps, whose clock is its own; a block's time is known, what is outside it is the difference.
    small: without, at a smaller size; its clock is what the driver said, and each part takes the same cycles.
    """
    from tutorlib.kernels.hopper.config import HopperConfig

    cycles, config = traced.facts["cycles"], HopperConfig()
    tile_m, tile_n, tile_k = config.tile
    floor = 2 * tile_m * tile_n * tile_k // FLOPS
    beyond = cycles["per K tile"] - floor
    outside = traced.facts["stamped_us"] - cycles["block"] / cycles["clock_mhz"]
    columns = []
    for point, inside, total in (
        (traced, cycles["clock_mhz"], traced.facts["stamped_us"]),
        (small, None, small.measurement.median_us),
    ):
        m, n, k = point.measurement.shape
        tiles, _ = count_waves(m, n, config.tile, (1, 1), Sm().sms)
        k_tiles = tiles * ceil(k / tile_k)
        parts = (k_tiles * floor, k_tiles * beyond, tiles * cycles["epilogue"], cycles["first SEE_FULL"])
        driver = point.measurement.clock_mhz or 0
        us = [*(part / (inside or driver) for part in parts), outside]
        columns.append(
            [f"{inside:,}" if inside else "", f"{driver:,}", *(f"{one:.1f}" for one in [*us, total - sum(us), total])]
        )
    names = (
        "clock inside the kernel, MHz",
        "clock that the driver reports, MHz",
        f"tensor cores: {floor:,} cycles for each K tile",
        f"each K tile beyond that: {beyond:,} cycles",
        f"epilogues: {cycles['epilogue']:,} cycles each",
        f"before the block's first K tile: {cycles['first SEE_FULL']:,} cycles",
        "outside the block: launch, set-up, end",
        "not accounted for",
        "measured: with timestamps; without",
    )
    wide = max(map(len, names))
    rows = zip(names, *columns, strict=True)
    head = f"{f'{TRACED}, µs':{wide}} {'4096³':>8} {'2048³':>8}"
    return [head, *(f"{name:{wide}} {large:>8} {little:>8}" for name, large, little in rows)]
