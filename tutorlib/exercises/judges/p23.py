"""What the process of an answer needs of page 23's exercises."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tutorlib.checking.part import Filled, HostFunction, KernelSettings
from tutorlib.compiling.compiled import Compiled
from tutorlib.failure import FailureKind, Flaw

if TYPE_CHECKING:
    from tutorlib.kernels.attention.roles import AttentionParts


# Answers that fill slots of the attention kernel (`kernels.attention.roles`).


class AttnFlaw(FailureKind):
    """Why a part gives right results and is not the part that was asked for."""

    NOT_OVERLAPPED = "softmax beside no P V"


def without_overlap(compiled: Compiled) -> str:
    """A fault if no exponential comes between a wait for the older group and the next wait or commit; else ""."""
    hidden = r"wgmma\.wait_group\S*\s+1;(?:(?!wgmma\.(?:wait|commit)_group).)*ex2\."
    if re.search(hidden, compiled.ptx, re.DOTALL):
        return ""
    what = (
        "no softmax goes on beside P V: the exponentials need S alone, which wait_group(1) completes, and P V, the "
        "newest group, stays in flight."
    )
    return Flaw(what, AttnFlaw.NOT_OVERLAPPED)


def static_attention(settings: KernelSettings, causal: bool, parts: "AttentionParts") -> HostFunction:
    """The host function attention(q, k, v, o) for its tensors' sizes. settings: beside head_dim, causal and group."""
    from cutlass import Float32, Int32, cute

    from tutorlib.kernels.attention.hopper import launch_attention
    from tutorlib.kernels.attention.schedule import AttentionConfig

    @cute.jit
    def attention(q: cute.Tensor, k: cute.Tensor, v: cute.Tensor, o: cute.Tensor) -> None:
        head_dim = q.shape[3]
        config = AttentionConfig(head_dim, causal=causal, **settings)
        # A descriptor leaves out a mode whose size is known to be 1: so no size is known.
        tensors = tuple(
            cute.make_tensor(x.iterator, cute.make_layout((*map(Int32, x.shape[:3]), head_dim), stride=x.stride))
            for x in (q, k, v, o)
        )
        launch_attention(tensors, None, Float32(head_dim**-0.5), config, parts)

    return attention


def attention(filled: Filled, causal: bool = False, **settings: Any) -> HostFunction:
    """The kernel with the answer's parts."""
    from tutorlib.kernels.attention.roles import COURSE

    return static_attention(settings, causal, replace(COURSE, **filled))
