"""NVIDIA's own kernels on a GPU: the interpreter's results are the GPU's within rounding.

TUTORLIB_CUTILE_SAMPLES and TUTORLIB_TILEGYM name checkouts of theirs.
"""

from typing import Any

import cuda.tile as ct
import pytest
import torch

from tests.cutile_samples import SAMPLES, assert_close, of_source
from tutorlib.simulate.ptx import NotSimulated

pytestmark = pytest.mark.gpu("80")


def on_gpu(argument: Any) -> Any:
    if isinstance(argument, list | tuple):
        return type(argument)(map(on_gpu, argument))
    return argument.cuda() if isinstance(argument, torch.Tensor) else argument


@pytest.mark.parametrize("sample", [of_source(sample, sample.source) for sample in SAMPLES])
def test_the_interpreter_gives_what_the_gpu_gives_or_names_what_it_lacks(sample, needs_capability):
    case = sample.case()
    if case.refused:
        with pytest.raises(NotSimulated, match=case.refused):
            case.interpret()
        return
    needs_capability(case.needs)
    args = on_gpu(case.args)
    ct.launch(torch.cuda.current_stream(), case.grid, case.kernel, args)
    torch.cuda.synchronize()
    case.interpret()
    for place in case.want:
        assert_close(case.args[place], args[place], case.tolerance)
