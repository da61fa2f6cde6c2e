"""docs/coverage.md: what came of others' kernels, and of faults planted in them.

python -m tests.outside.coverage [RESULTS]    takes the lines that `tests.outside.runs` has printed, and writes the page
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.outside.runs import all_cases
from tutorlib.paths import ROOT

DATA = ROOT / "figures/data/simulator/coverage.json"
FAULTS = ROOT / "figures/data/simulator/planted_faults.json"
PAGE = ROOT / "docs/coverage.md"
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
    "10_minimal_tensor_mma_fp8.py": "each warp elects a thread that initializes the mbarriers",
    "gemm_M128_N128_Kany_TN_warpspec_multistage.py": "each warp elects a thread that initializes the mbarriers; the "
    "address of the tensor memory is read before the barrier; all lanes of a warp flip one phase bit in shared memory; "
    "two warps return before barriers of the whole block",
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
    "tma_multicast.py": "its finding below: the copy may come after the read",
    "test_attention": "its finding below: cuTile leaves the padding undetermined, here a NaN",
    "MatMul.py": "a product in tf32, and a comparison that allows less than its rounding",
    "LayerNorm.py": "on the CPU, torch sums up this gradient in bf16: its result is the coarser one",
    "AttentionFMHA.py": "its reference wants a backend of torch that only GPUs have",
    **dict.fromkeys(
        ("10_minimal_tensor_mma_fp8.py", "tmem_ld_to_stmatrix_transpose.py"), "an instruction that is not simulated"
    ),
    "cp_narrow_a_to_tmem_mma.py": "TMA spreads its numbers of 4 bits over bytes, which is not simulated",
    **dict.fromkeys(
        ("QuACK: gemm", "dense_gemm_persistent_dynamic.py", "tutorial_gemm/fp16_gemm_"),
        "it takes over blocks by `clusterlaunchcontrol`, which is not simulated",
    ),
    "10-block-scaled-matmul mxfp4": "the program's own error: a name that it has not assigned",
    "10-block-scaled-matmul mixed": "the program's own error: a name that it has not assigned",
}


HEAD = """# Kernels that others wrote

The simulator runs kernels that have nothing to do with the course. A case is one kernel of a public repository on
small inputs, compiled for one architecture and run without a GPU. It is *right* if its result equals torch's: in the
program's own comparison, where it has one.

The last table says when each source's cases ran. Rules added to the simulator since then may report more.

`python -m tests.outside.runs PATTERN` runs the cases whose names match, of the checkouts that the environment variables
in `tests/outside` name. `python -m tests.outside.coverage RESULTS` takes what it prints into
[figures/data/simulator/coverage.json](../figures/data/simulator/coverage.json), and writes this page.
"""


def page(data: dict[str, Any], faults: dict[str, Any]) -> str:
    parts = [HEAD, *shares(data["cases"]), *stopped(data["cases"]), *found(data["cases"]), *planted(faults)]
    return "\n".join([*parts, *sources(data["sources"])]).rstrip() + "\n"


def table(head: str, rows: Iterable[Iterable[object]]) -> Iterator[str]:
    columns = head.split("|")
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "|".join("---" for _ in columns) + "|"
    for row in rows:
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |"
    yield ""


def source_of(one: dict[str, Any]) -> str:
    return one["case"].rpartition(": ")[0]


def short(one: dict[str, Any]) -> str:
    return f"`{one['case'].partition(' --')[0]}`"


def shares(cases: list[dict[str, Any]]) -> Iterator[str]:
    counts = {
        name: Counter(one["outcome"] for one in cases if source_of(one) == name) for name in map(source_of, cases)
    }
    counts["all"] = sum(counts.values(), Counter())
    rows = [
        (name, total := count.total(), total - count["stops"], count["right"], f"{count['right'] / total:.0%}")
        for name, count in counts.items()
    ]
    yield "## What runs\n"
    yield from table("source|cases|run|right|share that is right", rows)


def stopped(cases: list[dict[str, Any]]) -> Iterator[str]:
    others = sorted((one for one in cases if one["outcome"] != "right"), key=lambda one: one["why"])
    yield "## What stops the others\n"
    rows = [(short(one), one["target"], one["why"], reason(STOPPED, one)) for one in others]
    yield from table("kernel|for|what it says|why", rows)


def found(cases: list[dict[str, Any]]) -> Iterator[str]:
    rows = [(short(one), finding, reason(FOUND, one)) for one in cases for finding in one["findings"]]
    yield "## What it reports of them\n"
    yield f"They are as their authors wrote them. It reports something of {len({row[0] for row in rows})} of them.\n"
    yield from table("kernel|finding|why it is one", rows)


def changed(mutant: dict[str, Any]) -> str:
    return f"`{mutant['statement'][:80]}`"


def reason(known: dict[str, str], one: dict[str, Any]) -> str:
    return next((why for part, why in known.items() if part in one["case"]), "")


def planted(faults: dict[str, Any]) -> Iterator[str]:
    """What the simulator says of the mutants, which of them show on a GPU, and those that only one of the two finds."""
    mutants = faults["mutants"]
    yield "## Faults planted in them\n"
    cases = len({short(one) for one in mutants})
    yield f"On {faults['date']}, one statement of the PTX at a time was changed in {cases} of the cases. Some changes"
    yield "harm nothing: a barrier that another one follows, a wait for what has come already."
    yield f"A mutant *shows* if one of {faults['launches']} launches on an {faults['gpu']} leaves other bits than the"
    yield "kernel itself ever does, or hangs, or if a tool of compute-sanitizer has more errors to report of it than of"
    yield f"the kernel ({faults['compute_sanitizer']}).\n"
    yield "The simulator reports a hazard from the accesses alone, without knowing what the result should be. *With a"
    yield "comparison* adds those whose result, simulated, is not the kernel's own.\n"
    columns: list[Callable[[dict[str, Any]], object]] = [
        lambda one: True,
        lambda one: one["findings"],
        lambda one: one["findings"] or one["compared"],
        lambda one: one["shows"],
        lambda one: one["shows"] and one["findings"],
    ]
    kinds = {fault: [one for one in mutants if one["fault"] == fault] for fault in (one["fault"] for one in mutants)}
    rows = [
        (fault, *(sum(bool(counts(one)) for one in each) for counts in columns))
        for fault, each in [*kinds.items(), ("all", mutants)]
    ]
    yield from table("fault|mutants|hazard reported|with a comparison|show on the GPU|of these reported", rows)
    yield "Those that show, and of which the simulator reports nothing. An index that is off but stays inside of its"
    yield "memory is no hazard: another kernel may well mean that element.\n"
    silent = [one for one in mutants if one["shows"] and not one["findings"]]
    rows = [
        (short(one), f"`{one['statement'][:80]}`", one["compared"] or "–", ", ".join(one["shows"])) for one in silent
    ]
    yield from table("case|the statement that is changed|the comparison|shows by", rows)
    yield "Those that it reports, and that show nothing there:\n"
    hidden = [one for one in mutants if one["findings"] and not one["shows"]]
    rows = [(short(one), changed(one), one["findings"][0]) for one in hidden]
    yield from table("case|the statement that is changed|the first finding", rows)


def sources(known: dict[str, Any]) -> Iterator[str]:
    yield "## Versions\n"
    rows = [
        (name, of["repository"], of["commit"][:12], " ".join(*of["packages"].items()), of["date"])
        for name, of in known.items()
    ]
    yield from table("source|repository|commit|compiler|ran on", rows)


def taken(data: dict[str, Any], lines: Iterable[str]) -> None:
    """Put new outcomes in the place of those of the same cases, with the versions that ran."""
    cases = {one["case"]: one for one in data["cases"]}
    ran = {one["case"]: one for one in map(json.loads, lines)}
    data["cases"] = [*(cases | ran).values()]
    for source in {case.source.name: case.source for case in all_cases() if str(case) in ran}.values():
        git = ["git", "-C", str(source.checkout), "rev-parse", "HEAD"]
        of = data["sources"][source.name]
        of["commit"] = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
        of["packages"] = {name: metadata.version(name) for name in of["packages"]}
        of["date"] = date.today().isoformat()


def read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    known = read(DATA)
    for results in sys.argv[1:]:
        taken(known, Path(results).read_text(encoding="utf-8").splitlines())
        DATA.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(known, read(FAULTS)), encoding="utf-8")
