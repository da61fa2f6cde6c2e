// What LLVM calls to convert to and from bf16 (bf) and fp16 (hf) on a CPU without an instruction for it: sf is float, df
// is double. Integer operations, but for a sum or a difference that aligns subnormal numbers. They round to nearest
// even; a double becomes an odd float first, so that it is rounded to nearest only once. LLVM's names are aliases, since
// cutlass renames each function of a module that it saves; weak_odr: objects in one program share them.

llvm.func internal @float_to_bf16(%x: f32) -> bf16 {
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %below_half = llvm.mlir.constant(0x7fff : i32) : i32
  %quiet = llvm.mlir.constant(0x400000 : i32) : i32
  %bits = llvm.bitcast %x : f32 to i32
  %kept = llvm.lshr %bits, %c16 : i32
  %odd = llvm.and %kept, %c1 : i32
  %up = llvm.add %bits, %below_half : i32
  %rounded = llvm.add %up, %odd : i32
  %nan = llvm.or %bits, %quiet : i32
  %is_nan = llvm.fcmp "uno" %x, %x : f32
  %result = llvm.select %is_nan, %nan, %rounded : i1, i32
  %high = llvm.lshr %result, %c16 : i32
  %half = llvm.trunc %high : i32 to i16
  %y = llvm.bitcast %half : i16 to bf16
  llvm.return %y : bf16
}

llvm.func internal @float_to_fp16(%x: f32) -> f16 {
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c13 = llvm.mlir.constant(13 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %sign_bit = llvm.mlir.constant(0x80000000 : i32) : i32
  %infinity = llvm.mlir.constant(0x7f800000 : i32) : i32
  %overflow = llvm.mlir.constant(0x47800000 : i32) : i32
  %normal_from = llvm.mlir.constant(0x38800000 : i32) : i32
  %half_infinity = llvm.mlir.constant(0x7c00 : i32) : i32
  %half_nan = llvm.mlir.constant(0x7e00 : i32) : i32
  %rebias = llvm.mlir.constant(0xc8000fff : i32) : i32
  %magic = llvm.mlir.constant(0x3f000000 : i32) : i32
  %all = llvm.bitcast %x : f32 to i32
  %sign = llvm.and %all, %sign_bit : i32
  %bits = llvm.xor %all, %sign : i32
  %is_nan = llvm.icmp "ugt" %bits, %infinity : i32
  %large = llvm.select %is_nan, %half_nan, %half_infinity : i1, i32
  %magnitude = llvm.bitcast %bits : i32 to f32
  %half = llvm.bitcast %magic : i32 to f32
  %aligned = llvm.fadd %magnitude, %half : f32
  %aligned_bits = llvm.bitcast %aligned : f32 to i32
  %subnormal = llvm.sub %aligned_bits, %magic : i32
  %kept = llvm.lshr %bits, %c13 : i32
  %odd = llvm.and %kept, %c1 : i32
  %up = llvm.add %bits, %rebias : i32
  %rounded = llvm.add %up, %odd : i32
  %normal = llvm.lshr %rounded, %c13 : i32
  %is_small = llvm.icmp "ult" %bits, %normal_from : i32
  %finite = llvm.select %is_small, %subnormal, %normal : i1, i32
  %is_large = llvm.icmp "uge" %bits, %overflow : i32
  %unsigned = llvm.select %is_large, %large, %finite : i1, i32
  %half_sign = llvm.lshr %sign, %c16 : i32
  %result = llvm.or %unsigned, %half_sign : i32
  %short = llvm.trunc %result : i32 to i16
  %y = llvm.bitcast %short : i16 to f16
  llvm.return %y : f16
}

llvm.func internal @fp16_to_float(%x: f16) -> f32 {
  %c13 = llvm.mlir.constant(13 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %sign_bit = llvm.mlir.constant(0x8000 : i32) : i32
  %half_infinity = llvm.mlir.constant(0x7c00 : i32) : i32
  %normal_from = llvm.mlir.constant(0x400 : i32) : i32
  %infinity = llvm.mlir.constant(0x7f800000 : i32) : i32
  %rebias = llvm.mlir.constant(0x38000000 : i32) : i32
  %smallest_normal = llvm.mlir.constant(0x38800000 : i32) : i32
  %short = llvm.bitcast %x : f16 to i16
  %all = llvm.zext %short : i16 to i32
  %half_sign = llvm.and %all, %sign_bit : i32
  %half = llvm.xor %all, %half_sign : i32
  %bits = llvm.shl %half, %c13 : i32
  %normal = llvm.add %bits, %rebias : i32
  %special = llvm.or %bits, %infinity : i32
  %scaled_bits = llvm.add %bits, %smallest_normal : i32
  %scaled = llvm.bitcast %scaled_bits : i32 to f32
  %one = llvm.bitcast %smallest_normal : i32 to f32
  %small = llvm.fsub %scaled, %one : f32
  %subnormal = llvm.bitcast %small : f32 to i32
  %is_special = llvm.icmp "uge" %half, %half_infinity : i32
  %is_small = llvm.icmp "ult" %half, %normal_from : i32
  %finite = llvm.select %is_small, %subnormal, %normal : i1, i32
  %unsigned = llvm.select %is_special, %special, %finite : i1, i32
  %sign = llvm.shl %half_sign, %c16 : i32
  %result = llvm.or %unsigned, %sign : i32
  %y = llvm.bitcast %result : i32 to f32
  llvm.return %y : f32
}

llvm.func internal @double_to_odd_float(%x: f64) -> f32 {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %minus_1 = llvm.mlir.constant(-1 : i32) : i32
  %nearest = llvm.fptrunc %x : f64 to f32
  %back = llvm.fpext %nearest : f32 to f64
  %magnitude = llvm.intr.fabs(%x) : (f64) -> f64
  %back_magnitude = llvm.intr.fabs(%back) : (f64) -> f64
  %is_above = llvm.fcmp "ogt" %back_magnitude, %magnitude : f64
  %is_inexact = llvm.fcmp "one" %back, %x : f64
  %bits = llvm.bitcast %nearest : f32 to i32
  %last = llvm.and %bits, %c1 : i32
  %is_even = llvm.icmp "eq" %last, %c0 : i32
  %moves = llvm.and %is_inexact, %is_even : i1
  %step = llvm.select %is_above, %minus_1, %c1 : i1, i32
  %by = llvm.select %moves, %step, %c0 : i1, i32
  %result = llvm.add %bits, %by : i32
  %y = llvm.bitcast %result : i32 to f32
  llvm.return %y : f32
}

llvm.func internal @double_to_bf16(%x: f64) -> bf16 {
  %odd = llvm.call @double_to_odd_float(%x) : (f64) -> f32
  %y = llvm.call @float_to_bf16(%odd) : (f32) -> bf16
  llvm.return %y : bf16
}

llvm.func internal @double_to_fp16(%x: f64) -> f16 {
  %odd = llvm.call @double_to_odd_float(%x) : (f64) -> f32
  %y = llvm.call @float_to_fp16(%odd) : (f32) -> f16
  llvm.return %y : f16
}

llvm.mlir.alias weak_odr @__truncsfbf2 : !llvm.func<bf16 (f32)> {
  %0 = llvm.mlir.addressof @float_to_bf16 : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
llvm.mlir.alias weak_odr @__truncsfhf2 : !llvm.func<f16 (f32)> {
  %0 = llvm.mlir.addressof @float_to_fp16 : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
llvm.mlir.alias weak_odr @__extendhfsf2 : !llvm.func<f32 (f16)> {
  %0 = llvm.mlir.addressof @fp16_to_float : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
llvm.mlir.alias weak_odr @__truncdfbf2 : !llvm.func<bf16 (f64)> {
  %0 = llvm.mlir.addressof @double_to_bf16 : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
llvm.mlir.alias weak_odr @__truncdfhf2 : !llvm.func<f16 (f64)> {
  %0 = llvm.mlir.addressof @double_to_fp16 : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
