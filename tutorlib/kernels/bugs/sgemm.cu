// c = a * b^T in fp32: a (M, K), b (N, K), c (M, N), of any size.
constexpr int T = 16;

extern "C" __global__ void __launch_bounds__(T * T)
sgemm(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float sA[T][T + 1], sB[T][T + 1];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * T + y, column = blockIdx.x * T + x;
  const int b_row = blockIdx.x * T + y;

  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += T) {
    sA[y][x] = row < m ? a[(size_t)row * k + k0 + x] : 0.0f;
    sB[y][x] = b_row < n ? b[(size_t)b_row * k + k0 + x] : 0.0f;
    __syncthreads();
    for (int i = 0; i < T; i++) sum += sA[y][i] * sB[x][i];
    __syncthreads();
  }
  if (row < m && column < n) c[(size_t)row * n + column] = sum;
}
