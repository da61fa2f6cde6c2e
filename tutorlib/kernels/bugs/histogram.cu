// counts[row][b] = how many of x[row] are b, 0 <= b < 256. One block a row, of any number of warps.
constexpr int BINS = 256;

extern "C" __global__ void histogram(const int *x, int *counts, int rows, int columns, int threads) {
  __shared__ int mine[BINS];
  const int t = threadIdx.x;
  const int *in = x + (size_t)blockIdx.x * columns;

  if (t < BINS) mine[t] = 0;
  __syncthreads();

  for (int i = t; i < columns; i += blockDim.x) atomicAdd(&mine[in[i]], 1);
  __syncthreads();

  for (int bin = t; bin < BINS; bin += blockDim.x) counts[blockIdx.x * BINS + bin] = mine[bin];
}
