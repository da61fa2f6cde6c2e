"""NVIDIA's own kernels on a GPU: the interpreter's results are the GPU's within rounding.

TUTORLIB_CUTILE_SAMPLES and TUTORLIB_TILEGYM name checkouts of theirs.
"""

from typing import Any

import cuda.tile as ct
import pytest
import torch

from tests.cutile_samples import SAMPLES, assert_close
from tutorlib import device

pytestmark = pytest.mark.skipif(bool(reason := device.why_not("80")), reason=reason or "")


def on_gpu(argument: Any) -> Any:
    if isinstance(argument, list | tuple):
        return type(argument)(map(on_gpu, argument))
    return argument.cuda() if isinstance(argument, torch.Tensor) else argument


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_the_interpreter_gives_what_the_gpu_gives(sample):
    case = sample.case()
    if case.refused:
        pytest.skip(f"{case.refused} is not simulated")
    if int(device.gpu().arch) < case.needs:
        pytest.skip(f"needs sm_{case.needs}")
    args = on_gpu(case.args)
    ct.launch(torch.cuda.current_stream(), case.grid, case.kernel, args)
    torch.cuda.synchronize()
    case.interpret()
    for place in case.want:
        assert_close(case.args[place], args[place], case.tolerance)
