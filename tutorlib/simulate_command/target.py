"""A kernel of a file on random tensors, and its outputs against a reference."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tutorlib.compiling.errors import CompileFailed, ToolMissing
from tutorlib.simulate.arguments import (
    BadInput,
    Given,
    as_torch,
    lacks_letter,
    load_target,
    one_line,
    parse_arch,
    parse_argument,
    parse_sizes,
)
from tutorlib.simulate.poison import is_poison
from tutorlib.simulate.report import Report, number_of
from tutorlib.simulate.tool import argument_names, simulate
from tutorlib.simulate_command.result import CommandResult

if TYPE_CHECKING:
    from torch import Tensor


def simulate_target(
    target: str,
    arguments: Sequence[str],
    arch: str,
    grid: str,
    block: str,
    cluster: str,
    smem: int,
    reference: str,
    seed: int,
    traced: bool,
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
    want = results_of(reference, given) if reference else None
    try:
        values = [one.value if isinstance(kernel, Path) else one.for_torch for one in given]
        report = simulate(kernel, *values, **launch, smem=smem, entry=entry, traced=traced)
        outputs = marked_outputs(report, argument_names(kernel, len(given), entry), given)
    except CompileFailed as error:
        raise BadInput(
            f"{target} does not compile for sm_{arch}{lacks_letter(launch['arch'])}: {' '.join(error.lines)}"
        ) from error
    except (ValueError, TypeError, NotImplementedError, ModuleNotFoundError, ToolMissing) as error:
        raise BadInput(f"{target}: {error}") from error
    except Exception as error:  # of cuTile's compiler, and of the user's own code
        raise BadInput(f"{target} raises {one_line(error)}") from error
    wrong = tuple(wrong_outputs(report, outputs, want, given))
    return CommandResult(report, wrong, reference)


def results_of(reference: str, given: Sequence[Given]) -> "list[Tensor]":
    """What a function makes of the inputs, floating numbers in fp64. Raises BadInput."""

    import torch

    def precise(value: Any) -> Any:
        return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    function, _ = load_target(reference)
    try:
        found = function(*(precise(one.for_torch) for one in given if not one.is_output))
    except Exception as error:
        raise BadInput(f"--reference {reference} raises {one_line(error)}") from error
    return list(found) if isinstance(found, tuple | list) else [found]


def marked_outputs(report: Report, names: Sequence[str], given: Sequence[Given]) -> dict[str, tuple[Any, np.ndarray]]:
    """By name, the arguments that are marked as outputs, else the tensors that the function returned; and the mask of
    the elements that were never written.
    """
    marked = {name: (one.value, is_poison(one.value)) for name, one in zip(names, given, strict=True) if one.is_output}
    returned = ((name, tensor) for name, tensor in report.outputs.items() if name not in names)
    return marked or {name: (tensor, np.zeros(tensor.shape, bool)) for name, tensor in returned}


def wrong_outputs(
    report: Report,
    outputs: dict[str, tuple[Any, np.ndarray]],
    want: "Sequence[Tensor] | None",
    given: Sequence[Given],
) -> list[str]:
    """Sentences about the outputs that have elements which no thread wrote, or differ from what is wanted.

    Raises BadInput if more or fewer are wanted, or of other shapes.
    """
    if want is None:
        return [
            f"{name}: {int(mask.sum()):,} of {number_of(mask.size, 'element')} are never written"
            for name, (_, mask) in outputs.items()
            if mask.any()
        ]
    from tutorlib.simulate_command.reference import first_place, sentence, too_far_off

    if len(want) != len(outputs):
        raise BadInput(
            f"the reference gives {number_of(len(want), 'tensor')} for {number_of(len(outputs), 'output')}: "
            "mark what the kernel writes, as in --arg 128x64:fp32:out"
        )
    dtypes = [one.for_torch.dtype for one in given if hasattr(one.value, "dtype")]
    wrong = []
    for (name, (output, unwritten)), wanted in zip(outputs.items(), want, strict=True):
        got, mask = as_torch(output), as_torch(unwritten)
        if got.shape != wanted.shape:
            raise BadInput(f"{name} is {tuple(got.shape)}, and the reference gives {tuple(wanted.shape)}")
        if (differ := too_far_off(got, wanted.double(), dtypes)).any():
            stored = "" if mask.any() else last_store(report, name, got, first_place(differ))
            wrong.append(" ".join(filter(None, (sentence(name, got, wanted, differ, mask), stored))))
    return wrong


def last_store(report: Report, name: str, tensor: "Tensor", place: tuple[int, ...]) -> str:
    """A sentence about the line that stored the first wrong element last; "" where no launch knows it."""
    element = sum(n * stride for n, stride in zip(place, tensor.stride(), strict=True))
    stores = (launch.last_store(name, element) for launch in reversed(report.launches))
    store = next(filter(None, stores), None)
    return f"The first was stored at {store}." if store else ""
