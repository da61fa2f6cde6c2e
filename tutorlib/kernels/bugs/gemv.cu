// y = x * w in fp32: x (M, K), w (K), y (M), K a multiple of 128. A warp has a row; two stages along K.
#include <cuda_pipeline.h>
constexpr int WARPS = 4, STEP = 128, VECTOR = 4;

extern "C" __global__ void __launch_bounds__(32 * WARPS)
gemv(const float *x, const float *w, float *y, int rows, int k) {
  __shared__ __align__(16) float sX[2][WARPS][STEP], sW[2][STEP];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = blockIdx.x * WARPS + warp, mine = lane * VECTOR, steps = k / STEP;

  auto fetch = [&](int step, int stage) {
    const int at = step * STEP + mine;
    if (row < rows) __pipeline_memcpy_async(&sX[stage][warp][mine], &x[(size_t)row * k + at], 16);
    if (warp == 0) __pipeline_memcpy_async(&sW[stage][mine], &w[at], 16);
  };

  int stage = 0;
  float sum = 0.0f;
  fetch(0, stage);
  __pipeline_commit();
  for (int step = 0; step < steps; step++) {
    if (step + 1 < steps) fetch(step + 1, stage ^ 1);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    if (row < rows)
      for (int i = lane; i < STEP; i += 32) sum += sX[stage][warp][i] * sW[stage][i];
    __syncthreads();
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
  if (lane == 0 && row < rows) y[row] = sum;
}
