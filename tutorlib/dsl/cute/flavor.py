"""Which half of the CuTe DSL this process has loaded."""

import re
import sys


def cute_flavor() -> str | None:
    """ "cu12" or "cu13"; None where it has not been used.

    Its wheels carry a compiler built for each version of CUDA, and it takes the newest that the driver can run.
    """
    compiler = sys.modules.get("cutlass._mlir._mlir_libs._cutlass_ir")
    found = re.search(r"\.(cu\d+)\.", getattr(compiler, "__file__", None) or "")
    return found and found[1]
