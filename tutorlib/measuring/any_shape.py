"""What the sweep over any shapes found, squares and random shapes apart."""

from tutorlib.measuring.measurement import Measurement
from tutorlib.measuring.results import SweepResults


def kinds_of(swept: SweepResults) -> dict[str, list[Measurement]]:
    """The measurements of gemm_any, of squares first, then of each seed's random shapes."""
    drawn = {seed: set(map(tuple, shapes)) for seed, shapes in swept.facts["random"].items()}
    measured = [point.measurement for point in swept.points]
    kinds = {"M = N = K": [one for one in measured if not any(one.shape in shapes for shapes in drawn.values())]}
    for seed, shapes in drawn.items():
        kinds[f"random, seed {seed}"] = [one for one in measured if one.shape in shapes]
    return kinds


def launch_cost_of(swept: SweepResults) -> str:
    """What a launch costs the host, as a sentence; "" where that was not measured."""
    for point in swept.points:
        if "host_us" in point.facts:
            ours, theirs = (f"{point.facts[key]:.1f} µs" for key in ("host_us", "baseline_host_us"))
            return f"A launch at a known shape takes the host {ours}; {swept.baseline}'s, through torch, {theirs}."
    return ""
