"""What the runs of others' kernels show, as data and as a page."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

from tests.outside.beside_gpu import NAME, beside
from tests.outside.faults import summed
from tests.outside.markdown import table
from tests.outside.runs import Outcome
from tests.outside.table import all_cases
from tutorlib.paths import ROOT, SWEEPS

DATA = ROOT / "figures/data/simulator/coverage.json"
FAULTS_DATA = ROOT / "figures/data/simulator/planted_faults.json"
PAGE = ROOT / "docs/coverage.md"
WHOLE = ("cp.async.bulk", "cp.async", "tcgen05", "wgmma", "mbarrier", "fence", "barrier.cluster", "tensormap")
FOUND = {  # what the simulator reports of the kernels as their authors wrote them, and why it is right
    "hopper/kernel/attention/fmha.py": "`producer_acquire` leaves the last store in flight, and no `producer_tail` "
    "follows: a block may end while TMA still reads its shared memory",
    "dsl_tutorials/smem_allocator.py": "it prints what it has allocated and never written",
    "tma_pipeline_single_warp.py": "a stage is filled again before the barrier that those who read it come by",
    "tutorial_tma/tma_v": "the block ends without a `cp.async.bulk.wait_group`",
    "slicek_m32n8k128.py": "no proxy fence lies between its cp.async and the tcgen05.mma that reads what they bring",
    "2cta_mma_blockscale_m128.py": "no proxy fence lies between its cp.async and the tcgen05.cp that reads what they "
    "bring; the thread that lets tcgen05.cp read both blocks' scales of B has waited for its own block's; the blocks "
    "end without a wait for the last commits",
    "cluster_tmem_reduce.py": "`tcgen05.wait::st` waits for `tcgen05.st`; a commit tells when a `tcgen05.cp` is over. "
    "`barrier.cluster.arrive.relaxed` orders no accesses to memory",
    "tma_multicast.py": "one warp waits for the copy, and `barrier.cluster.arrive.relaxed` passes on nothing of that",
    "05_minimal_tensor_mma.py": "each warp elects a thread that initializes the mbarriers; two warps return before "
    "barriers of the whole block",
    "gemm_M128_N128_Kany_TN_warpspec_multistage.py": "each warp elects a thread that initializes the mbarriers; the "
    "address of the tensor memory is read before the barrier; all lanes of a warp flip one phase bit in shared memory",
    "test_attention_backward.py": "it stores the LSE of rows past the end, where that of the next head begins",
    "test_attention": "it masks by adding a number, which leaves a NaN of the padding a NaN",
    "FFT.py": "each of its blocks takes a tile of the whole batch, and the grid has a block for each of the batch",
    "attention_backward for sm_100a": "its loop has no proxy fence between the cp.async and the tcgen05.mma that reads "
    "what they bring; of a loop that runs not once it loads the accumulators all the same, and drops them",
    "causal_attention for sm_100a": "of a loop that runs not once it loads the accumulators all the same, and drops "
    "them",
    "1cta_mma_a_from_tmem.py": "all four warps name lane 0, and the PTX ISA gives each 32 lanes of its own",
    "primitives/mapa.py": "a block may end while another one reads its shared memory",
    "primitives/tutorial/06_softmax.py": "a sum is stored where threads may still be reading the maximum",
    **dict.fromkeys(
        ("06-fused-attention", "09-persistent-matmul", "10-block-scaled-matmul"),
        "only `bar.sync` lies between an mbarrier's initialization and the first bytes that TMA counts on it; CUDA's "
        "guide and CUTLASS put a fence there",
    ),
    "primitives/tcgen05": "the block ends without a wait for its last commits, which arrive at mbarriers that are gone",
    **dict.fromkeys(
        ("blackwell/kernel/dense_gemm", "tutorial_gemm/fp16_gemm"),
        "its PTX has no `tcgen05.wait::ld`, which the PTX ISA asks for, or its block ends without a wait for a commit",
    ),
}
STOPPED = {  # why these cannot be right
    "cooperative_launch.py": "it takes memory from CUDA's runtime, and expects the driver to refuse a launch",
    "cluster_tmem_reduce.py": "its finding below: it reads before its copy is over",
    "gemm_M128_N128_Kany_TN_warpspec_multistage.py": "its findings below: the phase bits depend on the lanes' order",
    "test_attention": "its finding below: cuTile leaves the padding undetermined, here a NaN",
    "MatMul.py": "a product in tf32, and a comparison that allows less than its rounding",
    "LayerNorm.py": "on the CPU, torch sums up this gradient in bf16: its result is the coarser one",
    "AttentionFMHA.py": "its reference wants a backend of torch that only GPUs have",
    "tutorial/03_gemm_tiled_smem.py": "it takes longer than the limit of a case",
    "10_minimal_tensor_mma_fp8.py": "an instruction that is not simulated",
    "10-block-scaled-matmul mxfp4": "the program's own error: a name that it has not assigned",
    "10-block-scaled-matmul mixed": "the program's own error: a name that it has not assigned",
}

HEAD = """# Kernels that others wrote

The simulator runs kernels that have nothing to do with the course. A case is one kernel of a public repository on
small inputs, compiled for one architecture and run without a GPU. It is *right* if its result equals torch's: in the
program's own comparison, where it has one.

The last table says when each source's cases ran. Rules added to the simulator since then may report more.

`python -m tests.outside run RESULTS` runs the cases of the checkouts that these environment variables name:
{variables}. `python -m tests.outside write RESULTS` writes this page and its data,
[figures/data/simulator/coverage.json](../{data}).
"""


def coverage_of(outcomes: Mapping[tuple[str, str], Outcome]) -> dict[str, Any]:
    """outcomes: by source and kernel, of which only those count that are in the table still."""
    cases, today = list(all_cases()), date.today().isoformat()
    sources = {case.source.name: case.source for case in cases}
    listed = [outcomes[key] for case in cases if (key := (case.source.name, case.name)) in outcomes]
    kernels = [{name: value for name, value in vars(one).items() if name != "opcodes"} for one in listed]
    return {
        "versions": {
            name: source.version() | {"variable": source.variable, "date": today} for name, source in sources.items()
        },
        "kernels": kernels,
        "opcodes": opcodes_of(listed),
    }


def opcodes_of(outcomes: Iterable[Outcome]) -> dict[str, dict[str, Any]]:
    """By opcode with all its suffixes: whether it is simulated, for which targets, in how many cases of a source."""
    simulated: dict[str, bool] = defaultdict(lambda: True)
    targets: dict[str, set[str]] = defaultdict(set)
    cases: dict[str, Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        for target, opcodes in one.opcodes.items():
            for opcode, known in opcodes.items():
                simulated[opcode] &= known
                targets[opcode].add(target)
        cases_of = set().union(*one.opcodes.values()) if one.opcodes else set()
        for opcode in cases_of:
            cases[opcode][one.source] += 1
    return {
        opcode: {
            "simulated": simulated[opcode],
            "targets": sorted(targets[opcode], key=lambda target: int(re.sub(r"\D", "", target))),
            "cases": dict(cases[opcode]),
        }
        for opcode in sorted(simulated)
    }


def page(data: dict[str, Any], faults: dict[str, list[dict[str, Any]]]) -> str:
    """faults: the mutants by their case."""
    versions = data["versions"]
    variables = ", ".join(dict.fromkeys(f"`{each['variable']}`" for each in versions.values()))
    head = HEAD.format(variables=variables, data=DATA.relative_to(ROOT))
    parts = [head, *shares(data), *stopped(data), *found(data)]
    parts += planted(faults)
    for file in sorted(SWEEPS.glob(f"*_{NAME}.json")):
        parts += beside(json.loads(file.read_text(encoding="utf-8")), faults)
    parts += [*families(data), *versions_of(data)]
    return "\n".join(parts).rstrip() + "\n"


def shares(data: dict[str, Any]) -> Iterator[str]:
    by_source: dict[str, Counter[str]] = defaultdict(Counter)
    for one in data["kernels"]:
        by_source[one["source"]][one["outcome"]] += 1
    total = sum(by_source.values(), Counter())
    rows = [(name, *counted(count)) for name, count in by_source.items()] + [("all", *counted(total))]
    yield "## What runs\n"
    yield from table("source|cases|run|right|share that is right", rows)


def counted(count: Counter[str]) -> tuple[int, int, int, str]:
    cases = sum(count.values())
    return cases, cases - count["stops"], count["right"], f"{count['right'] / cases:.0%}"


def stopped(data: dict[str, Any]) -> Iterator[str]:
    others = sorted((one for one in data["kernels"] if one["outcome"] != "right"), key=lambda one: one["why"])
    rows = []
    for one in others:
        reason = next((reason for part, reason in STOPPED.items() if part in one["kernel"]), "")
        rows.append((f"{one['source']}: {short(one)}", one["target"], one["why"], reason))
    yield "## What stops the others\n"
    yield from table("kernel|for|what it says|why", rows)


def short(one: dict[str, Any]) -> str:
    return f"`{one['kernel'].partition(' --')[0]}`"


def found(data: dict[str, Any]) -> Iterator[str]:
    """The findings in these kernels, which are as their authors wrote them."""
    rows = []
    for one in data["kernels"]:
        why = next((why for part, why in FOUND.items() if part in one["kernel"]), "")
        rows += [(short(one), finding, why) for finding in one["findings"]]
    yield "## What it reports of them\n"
    yield f"They are as their authors wrote them. It reports something of {len({row[0] for row in rows})} of them.\n"
    yield from table("kernel|finding|why it is one", rows)


def planted(faults: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """What the simulator says of the mutants, by fault; then those that only the result betrays."""
    yield "## Faults planted in them\n"
    yield f"In {len(faults)} of the cases one statement of the PTX was changed at a time. Some changes harm nothing: a"
    yield "barrier that another one follows, a wait for what has come already. Which of them show is decided outside"
    yield "the simulator, on a GPU, below.\n"
    yield "The simulator reports a hazard from the accesses alone, without knowing what the result should be. The last"
    yield "column adds a comparison with the right result.\n"
    table_of = summed([mutant for each in faults.values() for mutant in each])
    rows = [(fault, *count.values()) for fault, count in [*table_of.items(), ("all", total(table_of.values()))]]
    yield from table("fault|mutants|hazard reported|with a comparison", rows)
    silent = [(case, one) for case, each in faults.items() for one in each if one["changed"] and not one["findings"]]
    if silent:
        yield "Only the comparison betrays these. An index that is off but stays inside of its memory is no hazard:"
        yield "another kernel may well mean that element.\n"
        yield from table(
            "case|statement|the comparison",
            ((f"`{case.partition(' --')[0]}`", f"`{one['statement'][:80]}`", one["compared"]) for case, one in silent),
        )


def total(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    return sum(map(Counter, counts), Counter())


def families(data: dict[str, Any]) -> Iterator[str]:
    by_family: dict[str, dict[str, Any]] = defaultdict(dict)
    for opcode, facts in data["opcodes"].items():
        by_family[family_of(opcode)][opcode] = facts
    known = sum(facts["simulated"] for facts in data["opcodes"].values())
    yield "## Opcodes\n"
    yield f"The cases compile to {len(data['opcodes'])} opcodes, suffixes included, of which {known} are simulated.\n"
    rows = []
    for family, opcodes in sorted(by_family.items()):
        missing = [f"`{opcode}`" for opcode, facts in opcodes.items() if not facts["simulated"]]
        sources = sorted({source.partition(":")[0] for facts in opcodes.values() for source in facts["cases"]})
        targets = sorted(
            {t for facts in opcodes.values() for t in facts["targets"]}, key=lambda t: int(re.sub(r"\D", "", t))
        )
        rows.append((f"`{family}`", len(opcodes), ", ".join(missing) or "–", ", ".join(targets), ", ".join(sources)))
    yield from table("family|opcodes|not simulated|for|in", rows)


def family_of(opcode: str) -> str:
    return next((whole for whole in WHOLE if opcode.startswith(whole)), opcode.partition(".")[0])


def versions_of(data: dict[str, Any]) -> Iterator[str]:
    yield "## Versions\n"
    rows = []
    for name, facts in data["versions"].items():
        packages = [f"{k} {v}" for k, v in facts.items() if k not in ("repository", "commit", "variable", "date")]
        rows.append((name, facts["repository"], facts["commit"][:12], ", ".join(packages), facts["date"]))
    yield from table("source|repository|commit|compiler|ran on", rows)
