// c (m × n, fp32) = a (m × k) · b (k × n), fp16, row-major; a warp each 16 × 16 of c. Sizes are multiples of 16.
#include <mma.h>

using namespace nvcuda;

__global__ void matmul(float* c, const half* a, const half* b, int m, int n, int k) {
    const int row = (blockIdx.y * blockDim.y + threadIdx.y) * 16;
    const int column = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 16;
    if (row >= m || column >= n)
        return;

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_part;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_part;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(a_part, a + row * k + i, k);
        wmma::load_matrix_sync(b_part, b + i * n + column, n);
        wmma::mma_sync(sum, a_part, b_part, sum);
    }
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}
