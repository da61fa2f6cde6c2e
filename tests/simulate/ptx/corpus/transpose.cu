// out (columns × rows) = the transpose of in (rows × columns), both row-major; blocks of 32 × 8 threads.
#define TILE 32
#define ROWS 8
#define PAD 1

__global__ void transpose(float* out, const float* in, int rows, int columns) {
    __shared__ float tile[TILE][TILE + PAD];

    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < columns && y + j < rows)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];

    __syncthreads();

    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < rows && y + j < columns)
            out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}
