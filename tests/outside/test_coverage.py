"""Which opcodes are known, which faults are planted, and the page that tells it."""

import json
import re

import torch

from tests.outside.coverage import DATA, FAULTS_DATA, PAGE, page
from tests.outside.faults import mutants_of, mutants_tried, summed
from tests.outside.opcodes import opcodes_of
from tests.simulate.ptx.snippets import kernel
from tutorlib.simulate.kept import KeptLaunch
from tutorlib.simulate.ptx.findings import NamedMemory
from tutorlib.simulate.ptx.parse import parse_ptx
from tutorlib.simulate.ptx.simulation import Launch
from tutorlib.simulate.stand_in.gpu import StandInGpu

SHARED = """
shl.b32 %r0, %tid_x, 2; mov.u32 %r1, smem; add.u32 %r1, %r1, %r0;
st.shared.b32 [%r1], %tid_x;
bar.sync 0;
xor.b32 %r2, %r0, 128; mov.u32 %r1, smem; add.u32 %r1, %r1, %r2;
ld.shared.b32 %r3, [%r1];
mul.wide.u32 %rd0, %tid_x, 4; add.s64 %rd0, %rd_out, %rd0; st.global.b32 [%rd0], %r3;
"""


def test_an_opcode_that_is_not_simulated():
    known = opcodes_of(parse_ptx(kernel("add.u32 %r0, %tid_x, 1; frobnicate.b32 %r0, %r0;")))
    assert (known["add.u32"], known["frobnicate.b32"]) == (True, False)


def kept_launch(folder):
    """The launch of SHARED, kept; and its report."""
    out, reports = torch.zeros(64, dtype=torch.int32), []
    gpu = StandInGpu("80", reports.append, keep=folder)
    gpu.hold(out, "out")
    module, parameters = parse_ptx(kernel(SHARED, ["out"], shared=256)), out.data_ptr().to_bytes(8, "little")
    sizes = (1, 1, 1), (64, 1, 1), 0
    names = [NamedMemory("tile", 0, 256)]
    gpu.launch(Launch(module, module.kernels["k"], *sizes, parameters, names=names, name="swapped"))
    assert out.tolist() == [n ^ 32 for n in range(64)]
    (file,) = folder.iterdir()
    return KeptLaunch.read(file), reports[0]


def test_faults_planted_in_a_kernel(tmp_path):
    kept, report = kept_launch(tmp_path)
    assert report.findings == ()
    assert (kept.arch, kept.name, kept.names) == ("80", "swapped", [NamedMemory("tile", 0, 256)])
    mutants = list(mutants_tried(kept, 2))
    barrier = next(mutant for mutant in mutants if mutant.fault == "a barrier removed")
    assert (barrier.statement, [finding.partition(":")[0] for finding in barrier.findings]) == ("bar.sync 0;", ["race"])
    counted = summed([vars(mutant) for mutant in mutants])
    assert counted["a barrier removed"] == {"mutants": 1, "reported": 1, "compared": 1}
    assert counted["an index off by one"]["compared"] == 2
    wrong = next(one for one in mutants if one.changed)
    assert re.fullmatch(r"element \d+ of out differs", wrong.compared)


def test_a_phase_flipped():
    text = kernel(
        "mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2, 9;\nmbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0;"
    )
    changed = [new for fault, _, new in mutants_of(text, "k", 3) if fault == "a phase flipped"]
    assert any("xor.b32 %r2, %r2, 1; mbarrier" in new for new in changed)
    assert any("[%r1], 1;" in new for new in changed)


def test_the_page_is_that_of_the_data():
    data, faults = (json.loads(file.read_text(encoding="utf-8")) for file in (DATA, FAULTS_DATA))
    assert PAGE.read_text(encoding="utf-8") == page(data, faults)
