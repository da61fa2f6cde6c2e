// c = a * b^T in bf16: a (M, K), b (N, K), c (M, N); M and N multiples of 32, K of 16. Four warps, a quarter each.
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;
using bf16 = __nv_bfloat16;
constexpr int T = 32, W = 16, THREADS = 128;

extern "C" __global__ void __launch_bounds__(THREADS)
tile_gemm(const bf16 *a, const bf16 *b, bf16 *c, int m, int n, int k) {
  __shared__ __align__(32) float out[T][T];
  const int warp = threadIdx.x / 32, down = warp / 2 * W, across = warp % 2 * W;
  const int row = blockIdx.y * T, column = blockIdx.x * T;

  wmma::fragment<wmma::matrix_a, W, W, W, bf16, wmma::row_major> part_a;
  wmma::fragment<wmma::matrix_b, W, W, W, bf16, wmma::col_major> part_b;
  wmma::fragment<wmma::accumulator, W, W, W, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int k0 = 0; k0 < k; k0 += W) {
    wmma::load_matrix_sync(part_a, a + (size_t)(row + down) * k + k0, k);
    wmma::load_matrix_sync(part_b, b + (size_t)(column + across) * k + k0, k);
    wmma::mma_sync(sums, part_a, part_b, sums);
  }

  // through shared memory, so that a warp stores whole rows
  wmma::store_matrix_sync(&out[down][across], sums, T, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < T * T / 2; i += THREADS) {
    const int y = i / (T / 2), x = i % (T / 2) * 2;
    const __nv_bfloat162 pair = __floats2bfloat162_rn(out[y][x], out[y][x + 1]);
    *reinterpret_cast<__nv_bfloat162 *>(&c[(size_t)(row + y) * n + column + x]) = pair;
  }
}
