// c (rows × columns) = 2 · a (rows × inner) · b (inner × columns) on tensor cores, a warp for each M × N of c.
// Sizes are multiples of M, N and K; c is row-major.
#include <cuda_bf16.h>
#include <mma.h>

#define INPUT half
#define OUTPUT float
#define M 16
#define N 16
#define K 16
#define A_MAJOR row_major
#define B_MAJOR row_major

using namespace nvcuda;

__global__ void matmul(OUTPUT* c, const INPUT* a, const INPUT* b, int rows, int columns, int inner) {
    const int row = (blockIdx.y * blockDim.y + threadIdx.y) * M;
    const int column = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * N;
    if (row >= rows || column >= columns)
        return;

    const bool a_by_rows = std::is_same_v<wmma::A_MAJOR, wmma::row_major>;
    const bool b_by_rows = std::is_same_v<wmma::B_MAJOR, wmma::row_major>;
    wmma::fragment<wmma::matrix_a, M, N, K, INPUT, wmma::A_MAJOR> a_part;
    wmma::fragment<wmma::matrix_b, M, N, K, INPUT, wmma::B_MAJOR> b_part;
    wmma::fragment<wmma::accumulator, M, N, K, OUTPUT> sum;
    wmma::fill_fragment(sum, OUTPUT(0));
    for (int k = 0; k < inner; k += K) {
        wmma::load_matrix_sync(a_part, a + (a_by_rows ? row * inner + k : k * rows + row), a_by_rows ? inner : rows);
        wmma::load_matrix_sync(b_part, b + (b_by_rows ? k * columns + column : column * inner + k),
                               b_by_rows ? columns : inner);
        wmma::mma_sync(sum, a_part, b_part, sum);
    }
    for (int i = 0; i < sum.num_elements; ++i)
        sum.x[i] *= OUTPUT(2);
    wmma::store_matrix_sync(c + row * columns + column, sum, columns, wmma::mem_row_major);
}
