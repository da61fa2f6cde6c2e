"""The CuTe DSL's errors in one line."""

import re


def cute_message(error: Exception) -> str:
    """The cause, in one line, without the DSL's colors and boxes."""
    from cutlass.base_dsl.common import DSLBaseError

    if not isinstance(error, DSLBaseError):
        return f"{type(error).__name__}: {error}"
    cause = str(error.cause or "")
    if "Verification failed" in cause:  # "… error: "source"("file":line:col): 'cute.memref.store' op expects …"
        return re.sub(r".*?error: (unknown|\".*?\"\(.*?\)): ", "", cause.split("\n note:")[0], flags=re.DOTALL)
    return error.message
