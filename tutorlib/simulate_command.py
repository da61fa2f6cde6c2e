"""`tutor simulate`: a script as it is, or a kernel of a file on random tensors and its outputs against a reference."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from tutorlib.compiling.errors import CompileFailed, ToolMissing
from tutorlib.problems.agreement import find_disagreement, first_disagreement
from tutorlib.problems.wrong import count
from tutorlib.simulate.arguments import Given, parse_arch, parse_argument, parse_sizes
from tutorlib.simulate.child import Crashed, in_child, signal_name
from tutorlib.simulate.poison import is_poison
from tutorlib.simulate.report import Report, counted
from tutorlib.simulate.sarif import to_sarif
from tutorlib.simulate.stand_in.script import run_script
from tutorlib.simulate.target import BadInput, load_target, one_line
from tutorlib.simulate.tool import argument_names, simulate

PICTURES = (".svg", ".png")
Format = Literal["text", "json", "sarif"]


@dataclass(frozen=True)
class Simulated:
    """wrong: sentences about the outputs, or about how the command ended. reference: what the outputs were compared
    with, or "". known: of the findings, those that the baseline has, which are not in the report.
    """

    report: Report
    wrong: tuple[str, ...] = ()
    reference: str = ""
    known: int = 0

    @property
    def failed(self) -> bool:
        return bool(self.report.findings or self.wrong)

    def after(self, baseline: Path | None) -> "Simulated":
        """Without the findings of a baseline, a report in JSON. Raises BadInput if it is none."""
        if baseline is None:
            return self
        try:
            known = {one["fingerprint"] for one in json.loads(baseline.read_text(encoding="utf-8"))["findings"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(f"--baseline {baseline}: no report that --format json wrote ({one_line(error)})") from None
        report = self.report.without(known)
        return replace(self, report=report, known=len(self.report.findings) - len(report.findings))

    def formatted(self, format: Format) -> str:
        if format == "sarif":
            return to_sarif(self.report)
        if format == "json":
            extra = {"reference": self.reference, "wrong": list(self.wrong), "known": self.known}
            return json.dumps(self.report.as_data() | extra, indent=2)
        equal = [f"✓ equal to {self.reference}"] if self.reference and not self.wrong else []
        known = [f"  {count(self.known, 'known finding')}"] if self.known else []
        verdict = [*self.report.verdict_lines(), *known, *(f"✗ {one}" for one in self.wrong), *equal]
        return "\n".join([*verdict, *self.report.cost_lines()])


def simulate_command(
    command: Sequence[str], arch: str, format: Format, picture: Path | None, keep: Path | None, exact: bool = False
) -> Simulated:
    """A script, pytest or another command, unchanged. Its output goes to stderr where stdout is for data.

    Raises BadInput if it launches nothing.
    """
    check_picture(picture)
    try:
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
        run = run_script(command, parse_arch(arch), bool(picture), format != "text", keep, exact)
    except OSError as error:
        raise BadInput(f"{error.filename or command[0]}: {error.strerror}") from None
    crash = signal_name(run.status)
    ended = f"crashes: {crash}" if crash else f"ends with status {run.status}" if run.status else ""
    said = shlex.join(command)
    if not run.launches:
        raise BadInput(f"{said} {ended or 'launches no kernel'}" + (" and launches no kernel" if ended else ""))
    stopped = sum(bool(launch.stopped) for launch in run.launches)
    wrong = [f"{counted(stopped, 'launch', 'launches')} could not be simulated"] if stopped else []
    wrong += [f"{said} {ended}"] if ended else []
    done = Simulated(Report(parse_arch(arch), run.launches, {}), tuple(wrong))
    if picture:
        save_picture(done.report, picture)
    return done


def simulate_alone(target: str, format: Format, baseline: Path | None, **options: Any) -> tuple[str, bool]:
    """`simulate_target` in a process of its own: its text, and whether it failed. Raises BadInput."""

    def task() -> tuple[str, bool]:
        done = simulate_target(target, **options).after(baseline)
        return done.formatted(format), done.failed

    try:
        return in_child(task)
    except Crashed as error:
        raise BadInput(f"{target} crashes while it is simulated: {error}") from None


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
) -> Simulated:
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
    return Simulated(report, wrong, reference)


def check_picture(file: Path | None) -> None:
    if file and file.suffix not in PICTURES:
        raise BadInput(f"--picture {file}: name a file that ends in {' or '.join(PICTURES)}")


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


def save_picture(report: Report, file: Path) -> None:
    """The first block of each launch. Raises BadInput."""
    from tutorlib.draw.simulated import picture_of

    drawn = picture_of(report.launches)
    if drawn is None:
        raise BadInput("--picture: cuTile's kernels are interpreted tile by tile, which gives no picture")
    try:
        drawn.savefig(file)
    except OSError as error:
        raise BadInput(f"--picture {file}: {error.strerror}") from None
