"""A descriptor that a kernel changes, field by field, against what the host would have made."""

import numpy as np
import torch

from tests.simulate.ptx.snippets import kernel, launch
from tutorlib.simulate.ptx.descriptors import BYTES, read_tensor_map

CHANGES = """
tensormap.replace.tile.global_address.shared::cta.b1024.b64 [smem], %rd_there;
tensormap.replace.tile.rank.shared::cta.b1024.b32 [smem], 1;
tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [smem], 6;
tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [smem], 3;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [smem], 0, 264;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [smem], 1, 300;
tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [smem], 0, 528;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [smem], 0, 64;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [smem], 1, 128;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [smem], 0, 1;
tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [smem], 0;
"""
CLEARED = """
shl.b32 %r_0, %tid_x, 2;
mov.u32 %r_1, smem;
add.u32 %r_0, %r_0, %r_1;
mov.u32 %r_2, 0;
st.shared.b32 [%r_0], %r_2;
bar.warp.sync 0xFFFFFFFF;
setp.ne.u32 %p0, %tid_x, 0;
@%p0 bra DONE;
"""
COPIED = """
DONE:
bar.warp.sync 0xFFFFFFFF;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd_out], [smem], 128;
"""


def test_a_descriptor_made_on_the_device():
    there, out = torch.zeros(300, 264).half(), torch.zeros(BYTES, dtype=torch.uint8)
    text = kernel(CLEARED + CHANGES + COPIED, ["there", "out"], shared=BYTES).replace("%r_", "%r")
    report = launch(text, {"there": there, "out": out})
    described = read_tensor_map(out.numpy().tobytes())
    assert (described.element, described.shape, described.strides) == (2, (264, 300), (2, 528))
    assert (described.box, described.swizzle) == ((64, 128), 3)
    assert described.address == np.frombuffer(out.numpy().tobytes(), np.uint64)[0] != 0
    assert not report.findings
