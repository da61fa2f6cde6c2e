// Takes tiles of 128x64 bf16 through shared memory 980 times: a warp writes 4 rows, then reads 2 chunks of 16 rows.
// AT(r, c): the place of chunk c of row r. After every 7 passes the chunks are in order again, so dst becomes src.
__global__ void tile_layout(const uint4* src, uint4* dst, int rows, int columns) {
    __shared__ __align__(1024) uint4 tile[128 * 9];
    const int first = 1024 * blockIdx.x + threadIdx.x;
    uint4 mine[4];
    for (int v = 0; v < 4; ++v) mine[v] = src[first + 256 * v];
    for (int pass = 0; pass < 980; ++pass) {
        for (int v = 0; v < 4; ++v) {
            const int n = 256 * v + threadIdx.x, r = n / 8, c = n % 8;
            tile[AT(r, c)] = mine[v];
        }
        __syncthreads();
        for (int v = 0; v < 4; ++v) {
            const int n = 256 * v + threadIdx.x, r = n / 128 * 16 + n % 16, c = n / 16 % 8;
            mine[v] = tile[AT(r, c)];
        }
        __syncthreads();
    }
    for (int v = 0; v < 4; ++v) dst[first + 256 * v] = mine[v];
}
