"""The GEMM of notebooks 09 to 12, for sm_80: cp.async, ldmatrix and mma.sync."""
