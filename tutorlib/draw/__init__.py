"""Pictures of layouts, shared-memory banks, threads and blocks. Every function returns its figure; none saves it."""

from tutorlib.draw.algebra import show_complement, show_compose, show_divide, show_product
from tutorlib.draw.attention import show_attention, show_tiles
from tutorlib.draw.banks import show_banks, show_swizzle
from tutorlib.draw.blackwell import (
    show_blackwell,
    show_block,
    show_handover,
    show_pair,
    show_scaled,
    show_tensor_memory,
)
from tutorlib.draw.blocks import show_block_order
from tutorlib.draw.hopper import show_sm, show_wgmma
from tutorlib.draw.k_loop import show_k_loop
from tutorlib.draw.layouts import show_layout, show_layouts, show_memory
from tutorlib.draw.machine import show_machine
from tutorlib.draw.mbarrier import show_mbarrier
from tutorlib.draw.reduction import show_reduction
from tutorlib.draw.roles import show_roles, show_work
from tutorlib.draw.threads import show_tv, show_tvs
from tutorlib.draw.timeline import show_timeline
from tutorlib.draw.warps import show_columns, show_warps
