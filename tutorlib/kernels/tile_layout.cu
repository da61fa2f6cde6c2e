// Takes tiles of 128x64 bf16 through shared memory 980 times: a warp writes 4 rows, then reads 2 chunks of 16 rows.
// at(r, c): the place of chunk c of row r. After every 7 passes the chunks are in order again, so dst becomes src.
#define EACH for (int v = 0, n = threadIdx.x; v < 4; ++v, n += 256)

__global__ void tile_layout(const uint4* src, uint4* dst, int rows, int columns) {
    __shared__ __align__(1024) uint4 tile[128 * 9];
    uint4 mine[4];
    EACH mine[v] = src[1024 * blockIdx.x + n];
    for (int pass = 0; pass < 980; ++pass) {
        EACH tile[at(n / 8, n % 8)] = mine[v];
        __syncthreads();
        EACH mine[v] = tile[at(n / 128 * 16 + n % 16, n / 16 % 8)];
        __syncthreads();
    }
    EACH dst[1024 * blockIdx.x + n] = mine[v];
}
