"""NVIDIA's own kernels, interpreted, against torch.

They are not part of this repository: TUTORLIB_CUTILE_SAMPLES and TUTORLIB_TILEGYM name checkouts of theirs.
"""

import pytest

from tests.cutile_samples import SAMPLES, assert_close
from tutorlib.simulate.cutile import NotSimulated


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_the_interpreter_gives_what_torch_gives_or_names_what_it_lacks(sample):
    case = sample.case()
    if case.refused:
        with pytest.raises(NotSimulated, match=case.refused):
            case.interpret()
        return
    report = case.interpret()
    assert {finding.kind for finding in report.findings} == case.finds
    for place, want in case.want.items():
        assert_close(case.args[place], want, case.tolerance)
