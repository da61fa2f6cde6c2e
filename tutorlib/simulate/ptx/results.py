"""The fp32 numbers that a kernel's instructions computed last, and which of them it computed twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tutorlib.simulate.ptx.flow import read, written
from tutorlib.simulate.ptx.ir import Kernel

LANES = 64  # of the blocks that ran last
NEAR = 1e-5  # of a number and of the spread over lanes: the same formula, rounded at other places
ARITHMETIC = frozenset({"add", "sub", "mul", "fma", "div", "rcp", "sqrt", "rsqrt", "ex2", "lg2", "tanh"})


@dataclass(frozen=True)
class Fp32Result:
    """site: the instruction's number. register: of its result. read: the registers that it reads. numbers: (LANES,)"""

    site: int
    register: str
    read: frozenset[str]
    numbers: np.ndarray


def fp32_results(kernel: Kernel, registers: Mapping[str, np.ndarray]) -> tuple[Fp32Result, ...]:
    """registers: by name, as they are after the launch."""
    return tuple(
        Fp32Result(site, register, frozenset(read(one)), registers[register][:LANES].view(np.float32).copy())
        for site, one in enumerate(kernel.instructions)
        if one.parts[0] in ARITHMETIC and one.parts[-1] == "f32"
        for register in written(one)
    )


def computed_twice(results: Sequence[Fp32Result]) -> tuple[int, ...]:
    """The sites of two instructions whose results are the same in every lane, or ().

    A result that corrects the other one, such as the second step of a range reduction, is not the same computation.
    """
    numbers = np.array([one.numbers for one in results], np.float64)
    for n, (one, mine) in enumerate(zip(results, numbers, strict=True)):
        spread = float(np.std(mine[np.isfinite(mine)]))
        if not spread > 0:
            continue
        with np.errstate(invalid="ignore"):
            allowed = NEAR * np.minimum(np.maximum(abs(numbers[n + 1 :]), abs(mine)), spread)
            same = (numbers[n + 1 :] == mine) | (abs(numbers[n + 1 :] - mine) <= allowed)
        for other in np.array(results[n + 1 :], object)[same.all(1)]:
            if other.register != one.register and one.register not in other.read:
                return one.site, other.site
    return ()
