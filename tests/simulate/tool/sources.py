"""PTX of one kernel, and edits of it."""

DOUBLE = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry doubled(.param .u64 x, .param .u64 y, .param .u32 n)
.reqntid 32
{
    .reg .pred %p<2>;
    .reg .f32 %f<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r2, 32, %r3;
    setp.ge.s32 %p1, %r4, %r1;
    @%p1 bra DONE;
    mul.wide.s32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    add.f32 %f2, %f1, %f1;
    st.global.f32 [%rd5], %f2;
DONE:
    ret;
}
"""
UNGUARDED = DOUBLE.replace("@%p1 bra DONE;", "")
