// y[row] = sum of x[row]: x (M, N) with N a multiple of 32. A thread has a row; what it needs is staged by cp.async.
#include <cuda_pipeline.h>
constexpr int ROWS = 64, COLUMNS = 32, VECTOR = 4;
constexpr int PITCH = COLUMNS + 1;  // threads read down a column of the tile

extern "C" __global__ void __launch_bounds__(ROWS)
row_sums(const float *x, float *y, int rows, int columns) {
  __shared__ __align__(16) float tile[ROWS][PITCH];
  const int t = threadIdx.x, first = blockIdx.x * ROWS;

  float sum = 0.0f;
  for (int column = 0; column < columns; column += COLUMNS) {
    for (int i = t; i < ROWS * COLUMNS / VECTOR; i += ROWS) {
      const int row = i / (COLUMNS / VECTOR), at = i % (COLUMNS / VECTOR) * VECTOR;
      const float *from = x + (size_t)(first + row) * columns + column + at;
      if (first + row < rows) __pipeline_memcpy_async(&tile[row][at], from, VECTOR * sizeof(float));
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    if (first + t < rows)
      for (int i = 0; i < COLUMNS; i++) sum += tile[t][i];
    __syncthreads();
  }
  if (first + t < rows) y[first + t] = sum;
}
