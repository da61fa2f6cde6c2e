// counts[row][b] = how many of x[row] are b, 0 <= b < 256. One block a row, of any number of warps.
// N is a multiple of 4: a thread loads four at a time.
constexpr int BINS = 256;

extern "C" __global__ void histogram(const int *x, int *counts, int rows, int columns, int threads) {
  __shared__ int mine[BINS];
  const int t = threadIdx.x;
  const int4 *in = reinterpret_cast<const int4 *>(x + (size_t)blockIdx.x * columns);
  int *out = counts + (size_t)blockIdx.x * BINS;

  if (t < BINS) mine[t] = 0;
  __syncthreads();

  for (int i = t; i < columns / 4; i += blockDim.x) {
    const int4 four = in[i];
    atomicAdd(&mine[four.x], 1);
    atomicAdd(&mine[four.y], 1);
    atomicAdd(&mine[four.z], 1);
    atomicAdd(&mine[four.w], 1);
  }
  __syncthreads();

  for (int bin = t; bin < BINS; bin += blockDim.x) out[bin] = mine[bin];
}
