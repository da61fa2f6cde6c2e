// y = x / sqrt(mean(x * x) + 1e-5), row by row. A block takes every gridDim.x-th row.
constexpr int THREADS = 128, WARPS = THREADS / 32;

__device__ float warp_sum(float value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
  return value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
rms_norm(const float *x, float *y, int rows, int columns) {
  __shared__ float partial[WARPS];
  const int t = threadIdx.x;

  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    const float *in = x + (size_t)row * columns;
    float *out = y + (size_t)row * columns;

    float squares = 0.0f;
    for (int i = t; i < columns; i += THREADS) squares += in[i] * in[i];
    squares = warp_sum(squares);
    if (t % 32 == 0) partial[t / 32] = squares;
    __syncthreads();

    float total = 0.0f;
    for (int warp = 0; warp < WARPS; warp++) total += partial[warp];
    const float scale = 1.0f / sqrtf(total / columns + 1e-5f);
    for (int i = t; i < columns; i += THREADS) out[i] = in[i] * scale;
  }
}
