// y (N) = the sum of the rows of x (M, N) in fp32: a bias's gradient. N is a multiple of 128, 1,024 at most.
// Four blocks share 128 columns. The last of them to finish adds the four partial sums, always in the same order.
constexpr int COLUMNS = 128, SLICES = 4, MOST = 1024;
__device__ float partial[SLICES][MOST];
__device__ unsigned finished[MOST / COLUMNS];  // of each strip of columns, how many blocks; 0 between launches

extern "C" __global__ void __launch_bounds__(COLUMNS)
column_sums(const float *x, float *y, int rows, int columns) {
  __shared__ bool last;
  const int t = threadIdx.x, strip = blockIdx.x, slice = blockIdx.y, column = strip * COLUMNS + t;

  float sum = 0.0f;
  for (int row = slice; row < rows; row += SLICES) sum += x[(size_t)row * columns + column];
  partial[slice][column] = sum;
  __syncthreads();

  if (t == 0) last = atomicAdd(&finished[strip], 1) == SLICES - 1;
  __syncthreads();
  if (!last) return;

  sum = 0.0f;
  for (int other = 0; other < SLICES; other++) sum += partial[other][column];
  y[column] = sum;
  if (t == 0) finished[strip] = 0;
}
