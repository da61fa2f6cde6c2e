"""The command line of `tutor simulate`, a part of the course's, and whole in the simulator's own wheel."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand


class WithCommand(TyperCommand):
    """A command whose words after "--" are another command, which is kept in the context."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.obj = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


def add_to(app: typer.Typer) -> None:
    app.command(cls=WithCommand, options_metavar="[OPTIONS] TARGET | -- COMMAND …")(simulate)


def simulate(
    ctx: typer.Context,
    target: Annotated[
        str, typer.Argument(help="FILE.py::HOST (or Class(…), or a @ct.kernel), FILE.ptx or FILE.cu.", metavar="")
    ] = "",
    arguments: Annotated[
        list[str] | None,
        typer.Option("--arg", help="For each argument: 128x64:bf16, 128x64:bf16:out for an output, or a number."),
    ] = None,
    arch: Annotated[str, typer.Option(help="Compute capability: 80, 90a, 100a; wgmma, tcgen05 need the a.")] = "80",
    grid: Annotated[str, typer.Option(help="Blocks of a kernel without a host function, as 8x4.")] = "",
    block: Annotated[str, typer.Option(help="Threads of a block of a .cu file, as 128.")] = "",
    cluster: Annotated[str, typer.Option(help="Blocks of a cluster of a .cu or .ptx file, as 2.")] = "",
    smem: Annotated[int, typer.Option(min=0, help="Bytes of dynamic shared memory of a .cu or .ptx file.")] = 0,
    format: Annotated[Literal["text", "json", "sarif"], typer.Option(help="Format of the report.")] = "text",
    baseline: Annotated[
        Path | None, typer.Option(help="A report in JSON: its findings are known, and do not fail.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random tensors.")] = 0,
) -> None:
    """Run kernels without a GPU, and report their hazards by line.

    tutor simulate --arch 90a -- python test.py        a script as it is, or pytest: every launch is simulated
    tutor simulate gemm.py::gemm --arg 128x64:bf16 …   one function, on random tensors

    Exit status 0: nothing found; 1: findings, an unwritten output, or a command that fails; 2: nothing was simulated.
    """
    from tutorlib.simulate import command

    try:
        capability = command.parse_arch(arch)
        if ctx.obj:
            report = command.simulate_script(ctx.obj, capability, quiet=format != "text")
        elif target:
            sizes = {"grid": grid, "block": block, "cluster": cluster}
            from tutorlib.simulate.target import simulate_alone

            report = simulate_alone(target, arguments or [], capability, sizes, smem, seed)
        else:
            raise command.BadInput("name what is simulated: tutor simulate -- python test.py, or FILE.py::HOST")
        report = report.without(command.read_baseline(baseline)) if baseline else report
    except command.BadInput as error:
        typer.secho(str(error), fg="red", err=True)
        raise typer.Exit(2) from None
    typer.echo({"text": report.__str__, "json": report.to_json, "sarif": report.to_sarif}[format]())
    raise typer.Exit(1 if report.findings or report.wrong else 0)


app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.callback()(lambda: None)  # so that `simulate` is named, though it is the only command
add_to(app)
