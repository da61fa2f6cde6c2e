"""A kernel of a file on random tensors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tutorlib.compiling.errors import CompileFailed, ToolMissing
from tutorlib.simulate.arguments import (
    BadInput,
    lacks_letter,
    load_target,
    one_line,
    parse_arch,
    parse_argument,
    parse_sizes,
)
from tutorlib.simulate.poison import is_poison
from tutorlib.simulate.report import number_of
from tutorlib.simulate.tool import argument_names, simulate
from tutorlib.simulate_command.result import CommandResult


def simulate_target(
    target: str, arguments: Sequence[str], arch: str, grid: str, block: str, cluster: str, smem: int, seed: int
) -> CommandResult:
    """Everything as the command line has it. Raises BadInput if nothing was simulated."""
    generator = np.random.default_rng(seed)
    given = [parse_argument(text, generator) for text in arguments]
    launch: dict[str, Any] = {
        "arch": parse_arch(arch),
        "grid": parse_sizes("--grid", grid),
        "block": parse_sizes("--block", block),
        "cluster": parse_sizes("--cluster", cluster),
    }
    kernel, entry = load_target(target)
    try:
        values = [one.value if isinstance(kernel, Path) else one.for_torch for one in given]
        report = simulate(kernel, *values, **launch, smem=smem, entry=entry)
        names = argument_names(kernel, len(given), entry)
    except CompileFailed as error:
        raise BadInput(
            f"{target} does not compile for sm_{arch}{lacks_letter(launch['arch'])}: {' '.join(error.lines)}"
        ) from error
    except (ValueError, TypeError, NotImplementedError, ModuleNotFoundError, ToolMissing) as error:
        raise BadInput(f"{target}: {error}") from error
    except Exception as error:  # of cuTile's compiler, and of the user's own code
        raise BadInput(f"{target} raises {one_line(error)}") from error
    masks = {name: is_poison(one.value) for name, one in zip(names, given, strict=True) if one.is_output}
    unwritten = (
        f"{name}: {int(mask.sum()):,} of {number_of(mask.size, 'element')} are never written"
        for name, mask in masks.items()
        if mask.any()
    )
    return CommandResult(report, tuple(unwritten))
