"""Advice for a compiler's refusals: one sentence for each kind that readers meet, by refusals.toml."""

import re

from tutorlib.dsl.refusal import Refusal, advised, nearest_keyword, nearest_name


def keep_its_type(found: re.Match[str]) -> str:
    name, before, after = found.groups()
    if "list" in before:
        return (
            f"`{name}` is a Python list, which a run-time loop cannot extend. Unroll the loop with "
            "cutlass.range_constexpr, or keep the values in cute.make_rmem_tensor."
        )
    begin = f"`{name}` is {before} before and {after} after. Begin with the type that it keeps: `cutlass.{after}(…)`"
    return begin + (", or is `//` meant where `/` stands?" if (before, after) == ("Int32", "Float32") else ".")


def in_bytes(found: re.Match[str]) -> str:
    known, needed = (int(bits) // 8 for bits in found.groups())
    return (
        f"An access of {needed} bytes needs an address that is a multiple of {needed}, and here the compiler can be "
        f"sure of {known}. Do a thread's values fill one access, and is it at most 16 bytes? Memory of your own takes "
        "byte_alignment=."
    )


CUTE = advised("cute", keep_its_type, in_bytes, nearest_keyword, nearest_name)
INLINED = advised("inlined")
CUTILE = advised("cutile", nearest_keyword, nearest_name)


def what_to_do(message: str, known: tuple[Refusal, ...] = (*CUTE, *advised("clear"), *INLINED, *CUTILE)) -> str:
    """About a compiler's one line: what to do, in a sentence or two; "" where it is none that is known."""
    return next((advice for refusal in known if (advice := refusal.about(message))), "")
