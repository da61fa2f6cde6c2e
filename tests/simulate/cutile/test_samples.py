"""NVIDIA's own kernels, interpreted, against torch.

They are not part of this repository: TUTORLIB_CUTILE_SAMPLES and TUTORLIB_TILEGYM name checkouts of theirs.
"""

import pytest

from tests.cutile_samples import SAMPLES, SOURCES, assert_close, of_source
from tutorlib.dsl.cutile.kernels import function_of


@pytest.mark.parametrize("sample", [of_source(sample, sample.source) for sample in SAMPLES])
def test_the_interpreter_gives_what_torch_gives(sample):
    case = sample.case()
    report = case.interpret()
    assert {finding.kind for finding in report.findings} == case.finds
    for place, want in case.want.items():
        assert_close(case.args[place], want, case.tolerance)


@pytest.mark.parametrize("source", [of_source(source, source) for source in SOURCES])
def test_every_kernel_is_in_the_table(source):
    wanted = source.kernels()
    modules = {module for module, _ in wanted}
    samples = [sample for sample in SAMPLES if sample.module in modules]
    assert wanted == {(sample.module, function_of(sample.case().kernel).__name__) for sample in samples}
