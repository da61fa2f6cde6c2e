"""The part of the page that sets the simulator beside a GPU, from what `gpu_runs` recorded there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.outside.markdown import table
from tutorlib.measuring.results import TOOLS

NAME = "outside"  # of the files: figures/data/sweeps/GPU_outside.json
HUNG = "hung"
SASS, PIPE = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op", "l1tex__t_sectors_pipe_lsu_mem_global_op"
ISSUED = "smsp__sass_inst_executed_op"
COUNTERS = {  # what is counted: the simulator's counts that are added up, ncu's counter
    "wavefronts of ld.shared": (("shared ld",), f"{SASS}_ld.sum"),
    "wavefronts of st.shared": (("shared st",), f"{SASS}_st.sum"),
    "wavefronts of ldmatrix": (("shared ldmatrix",), f"{SASS}_ldsm.sum"),
    "wavefronts of cp.async": (("shared cp.async",), f"{SASS}_ldgsts.sum"),
    "sectors loaded": (("global ld", "global cp.async"), f"{PIPE}_ld.sum"),
    "sectors stored": (("global st",), f"{PIPE}_st.sum"),
    "ld.shared": (("issued ld.shared",), f"{ISSUED}_shared_ld.sum"),
    "st.shared": (("issued st.shared",), f"{ISSUED}_shared_st.sum"),
    "ld.global": (("issued ld.global",), f"{ISSUED}_global_ld.sum"),
    "st.global": (("issued st.global",), f"{ISSUED}_global_st.sum"),
    "ldmatrix": (("issued ldmatrix",), "sm__sass_inst_executed_op_ldsm.sum"),
    "mma.sync": (("issued mma.sync",), "sm__inst_executed_pipe_tensor_op_hmma.sum"),
    "wgmma": (("issued wgmma.mma_async",), "sm__inst_executed_pipe_tensor_op_gmma.sum"),
    "all instructions": (("issued",), "smsp__inst_executed.sum"),
}


def beside(record: Mapping[str, Any], faults: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """faults: what the simulator says of the mutants, by their case."""
    gpu = record["machine"]["gpu"]
    yield f"## Beside an {gpu}\n"
    yield "`python -m tests.outside pack build/outside` packs launches, and `python -m tests.outside.gpu_runs"
    yield f"build/outside` repeats them on a GPU. These are the results of {record['date']}.\n"
    yield from finders(record, faults)
    yield from results(record["kernels"])
    yield from counts(record)


def finders(record: Mapping[str, Any], faults: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """Which mutants show, and who finds them, by fault."""
    simulated = {(case, *key(one)): one for case, each in faults.items() for one in each}
    unharmed = {(row["case"], row["kernel"]): row for row in record["kernels"]}
    rows: dict[str, list[int]] = {}
    hidden = []
    for mutant in record["mutants"]:
        said = simulated[mutant["case"], *key(mutant)]["findings"]
        original = unharmed[mutant["case"], mutant["kernel"]]
        reports = [reported(mutant, original, tool) for tool in TOOLS]
        hangs = mutant.get("error") == HUNG
        other_bits = bool({*mutant.get("digests", ())} - {*original["digests"]})
        shows = other_bits or hangs or any(reports)
        row = rows.setdefault(mutant["fault"], [0] * (len(TOOLS) + 6))
        for n, each in enumerate([True, shows, shows and said, said and not shows, other_bits, hangs, *reports]):
            row[n] += bool(each)
        if said and not shows:
            hidden.append((f"`{mutant['case'].partition(' --')[0]}`", f"`{mutant['statement'][:80]}`", said[0]))
    yield "### Faults: which show, and who finds them\n"
    yield f"A mutant *shows* if one of {record['runs']} launches leaves other bits than the kernel itself ever does, or"
    yield "hangs, or if one of the four tools of compute-sanitizer has more errors to report of it than of the kernel"
    yield f"({record['compute_sanitizer']}).\n"
    head = "fault|mutants|show|of these the simulator reports|it reports, and nothing shows|other bits|hang|"
    totals = [sum(column) for column in zip(*rows.values(), strict=True)]
    yield from table(head + "|".join(TOOLS), [(fault, *row) for fault, row in [*rows.items(), ("all", totals)]])
    if hidden:
        yield "What it reports of those that show nothing:\n"
        yield from table("case|the statement that is changed|the first finding", hidden)
    alarms = [
        (f"`{row['kernel'][:60]}`", tool, verdict["first"])
        for row in record["kernels"]
        for tool, verdict in row["tools"].items()
        if verdict["errors"]
    ]
    if alarms:
        yield "Of the originals the tools report:\n"
        yield from table("kernel|tool|its first error", alarms)


def key(mutant: Mapping[str, Any]) -> tuple[str, int, str]:
    return mutant["fault"], mutant["line"], mutant["statement"]


def reported(mutant: Mapping[str, Any], original: Mapping[str, Any], tool: str) -> bool:
    """Whether a tool has more to say of the mutant than of the original."""
    errors = [row["tools"].get(tool, {"errors": 0})["errors"] for row in (mutant, original)]
    return bool(errors[0] > errors[1])


def results(kernels: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How many of the outputs are the same, bit by bit, and which are not."""
    ran = [row for row in kernels if "error" not in row]
    others = [row for row in ran if row["differ"]]
    exact = [row for row in ran if not row["approximate"]]
    yield "### Results\n"
    yield f"{len(ran)} kernels ran on the GPU, on the inputs that the simulator had: {len(ran) - len(others)} left the"
    yield f"same bits in all their outputs. Of the {len(exact)} without an approximate instruction such as `ex2.approx`"
    yield f"{sum(not row['differ'] for row in exact)} did.\n"
    rows = [
        (
            f"`{row['case'].partition(' --')[0]}`",
            f"{row['differ']:,} of {row['elements']:,}",
            f"{row['steps']:,}",
            ", ".join(f"`{name}`" for name in row["approximate"]) or "–",
        )
        for row in others
    ]
    yield from table("kernel|elements that differ|by at most, in steps of the dtype|its approximations", rows)
    if stopped := [(f"`{row['case'].partition(' --')[0]}`", row["error"]) for row in kernels if "error" in row]:
        yield "These did not run there:\n"
        yield from table("kernel|why", stopped)


def counts(record: Mapping[str, Any]) -> Iterator[str]:
    """The simulator's counts beside ncu's."""
    yield "### Counts\n"
    if record["uncounted"]:
        yield f"ncu counted nothing: {record['uncounted']}\n"
        return
    rows, others = [], []
    for what, (ours, theirs) in COUNTERS.items():
        pairs = [
            (one["case"], sum(one["simulated"][name] for name in ours), int(one["gpu"][theirs]))
            for one in record["counted"]
            if theirs in one["gpu"]
        ]
        pairs = [pair for pair in pairs if any(pair[1:])]
        sums = [sum(pair[n] for pair in pairs) for n in (1, 2)]
        equal = sum(mine == other for _, mine, other in pairs)
        rows.append((what, len(pairs), equal, *(f"{n:,}" for n in sums)))
        if what.startswith(("wavefronts", "sectors")):
            others += [
                (f"`{case.partition(' --')[0]}`", what, f"{mine:,}", f"{other:,}")
                for case, mine, other in pairs
                if mine != other
            ]
    yield f"ncu counted {len(record['counted'])} of these launches. It sees the machine code, in which instructions are"
    yield "merged, removed and added; the simulator sees the PTX.\n"
    yield from table("count|kernels that have it|equal|simulator, all kernels|ncu, all kernels", rows)
    if others:
        yield "Wavefronts and sectors that differ:\n"
        yield from table("kernel|count|simulator|ncu", others)
