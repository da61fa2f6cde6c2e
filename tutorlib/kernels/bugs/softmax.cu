// y = softmax of each row of x (M, N) in fp32, of any size. A block has a row.
constexpr int THREADS = 128, WARPS = THREADS / 32;

struct Max { __device__ float operator()(float a, float b) const { return fmaxf(a, b); } };
struct Add { __device__ float operator()(float a, float b) const { return a + b; } };

template <class Op> __device__ float of_warp(float value, Op op) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value = op(value, __shfl_xor_sync(~0u, value, lanes));
  return value;
}

template <class Op> __device__ float of_block(float value, Op op, float *partial) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = of_warp(value, op);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  return of_warp(lane < WARPS ? partial[lane] : 0.0f, op);
}

extern "C" __global__ void __launch_bounds__(THREADS)
softmax(const float *x, float *y, int rows, int columns) {
  __shared__ float tops[WARPS], totals[WARPS];
  const float *in = x + (size_t)blockIdx.x * columns;
  float *out = y + (size_t)blockIdx.x * columns;

  float top = -INFINITY, total = 0.0f;
  for (int i = threadIdx.x; i < columns; i += THREADS) top = fmaxf(top, in[i]);
  top = of_block(top, Max(), tops);
  for (int i = threadIdx.x; i < columns; i += THREADS) total += expf(in[i] - top);
  total = of_block(total, Add(), totals);
  for (int i = threadIdx.x; i < columns; i += THREADS) out[i] = expf(in[i] - top) / total;
}
