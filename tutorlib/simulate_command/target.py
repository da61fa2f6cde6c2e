"""A kernel of a file on random tensors, and its outputs against a reference."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tutorlib.compiling.errors import CompileFailed, ToolMissing
from tutorlib.problems.agreement import find_disagreement, first_disagreement
from tutorlib.problems.wrong import count
from tutorlib.simulate.arguments import Given, parse_argument, parse_sizes
from tutorlib.simulate.bad_input import BadInput, one_line, parse_arch
from tutorlib.simulate.poison import is_poison
from tutorlib.simulate.report import Report
from tutorlib.simulate.target import load_target
from tutorlib.simulate.tool import argument_names, simulate
from tutorlib.simulate_command import CommandResult, check_picture, save_picture


def simulate_target(
    target: str,
    arguments: Sequence[str],
    arch: str,
    grid: str,
    block: str,
    cluster: str,
    smem: int,
    dynamic: bool,
    reference: str,
    seed: int,
    picture: Path | None,
    exact: bool = False,
) -> CommandResult:
    """Everything as the command line has it. Raises BadInput if nothing was simulated."""
    check_picture(picture)
    generator = torch.Generator().manual_seed(seed)
    given = [parse_argument(text, generator) for text in arguments]
    launch: dict[str, Any] = {
        "arch": parse_arch(arch),
        "grid": parse_sizes("--grid", grid),
        "block": parse_sizes("--block", block),
        "cluster": parse_sizes("--cluster", cluster),
        "exact": exact,
    }
    kernel, entry = load_target(target)
    want = results_of(reference, given) if reference else None
    try:
        values = [one.value for one in given]
        report = simulate(kernel, *values, **launch, smem=smem, entry=entry, dynamic=dynamic, traced=bool(picture))
        outputs = marked_outputs(report, argument_names(kernel, len(given)), given)
    except CompileFailed as error:
        raise BadInput(f"{target} does not compile for sm_{arch}: {' '.join(error.lines)}") from error
    except (ValueError, TypeError, NotImplementedError, ModuleNotFoundError, ToolMissing) as error:
        raise BadInput(f"{target}: {error}") from error
    except Exception as error:  # of cuTile's compiler, and of the user's own code
        raise BadInput(f"{target} raises {one_line(error)}") from error
    wrong = tuple(wrong_outputs(report, outputs, want, given))
    if picture:
        save_picture(report, picture)
    return CommandResult(report, wrong, reference)


def results_of(reference: str, given: Sequence[Given]) -> list[Tensor]:
    """What a function makes of the inputs, floating numbers in fp64. Raises BadInput."""

    def precise(value: Any) -> Any:
        return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    function, _ = load_target(reference)
    try:
        found = function(*(precise(one.value) for one in given if not one.is_output))
    except Exception as error:
        raise BadInput(f"--reference {reference} raises {one_line(error)}") from error
    return list(found) if isinstance(found, tuple | list) else [found]


def marked_outputs(report: Report, names: Sequence[str], given: Sequence[Given]) -> dict[str, tuple[Tensor, Tensor]]:
    """By name, the arguments that are marked as outputs, else the tensors that the function returned; and the mask of
    the elements that were never written.
    """
    marked = {name: (one.value, is_poison(one.value)) for name, one in zip(names, given, strict=True) if one.is_output}
    return marked or {
        name: (tensor, torch.zeros_like(tensor, dtype=torch.bool))
        for name, tensor in report.outputs.items()
        if name not in names
    }


def wrong_outputs(
    report: Report, outputs: dict[str, tuple[Tensor, Tensor]], want: Sequence[Tensor] | None, given: Sequence[Given]
) -> list[str]:
    """Sentences about the outputs that have elements which no thread wrote, or differ from what is wanted.

    Raises BadInput if more or fewer are wanted, or of other shapes.
    """
    if want is None:
        return [
            f"{name}: {int(mask.sum()):,} of {count(mask.numel(), 'element')} are never written"
            for name, (_, mask) in outputs.items()
            if mask.any()
        ]
    if len(want) != len(outputs):
        raise BadInput(
            f"the reference gives {count(len(want), 'tensor')} for {count(len(outputs), 'output')}: "
            "mark what the kernel writes, as in --arg 128x64:fp32:out"
        )
    kinds = [one.value.dtype for one in given if isinstance(one.value, torch.Tensor)]
    wrong = []
    for (name, (got, mask)), wanted in zip(outputs.items(), want, strict=True):
        if got.shape != wanted.shape:
            raise BadInput(f"{name} is {tuple(got.shape)}, and the reference gives {tuple(wanted.shape)}")
        found = find_disagreement(name, got, mask, wanted, kinds)
        if found:
            stored = "" if mask.any() else last_store(report, name, got, first_disagreement(got, wanted, kinds))
            wrong.append(" ".join(filter(None, (found.what, stored, found.mistake))))
    return wrong


def last_store(report: Report, name: str, tensor: Tensor, place: tuple[int, ...]) -> str:
    """A sentence about the line that stored the first wrong element last; "" where no launch knows it."""
    element = sum(n * stride for n, stride in zip(place, tensor.stride(), strict=True))
    stores = (launch.last_store(name, element) for launch in reversed(report.launches))
    store = next(filter(None, stores), None)
    return f"The first was stored at {store}." if store else ""
