// out[i] = the mean of in[i - 3] … in[i + 3], zeros beyond the ends. A block walks over tiles; the next tile's copy is
// under way while this one is summed.
#include <cuda_pipeline.h>

#define RADIUS 3
#define TILE 128  // outputs a tile, one a thread
#define WIDTH (TILE + 2 * RADIUS)

__device__ void fetch(float* stage, const float* in, int tile, int n) {
    for (int i = threadIdx.x; i < WIDTH; i += TILE) {
        int from = tile * TILE + i - RADIUS;
        if (from >= 0 && from < n)
            __pipeline_memcpy_async(&stage[i], &in[from], sizeof(float));
        else
            stage[i] = 0.0f;
    }
    __pipeline_commit();
}

__global__ void stencil(float* out, const float* in, int n) {
    __shared__ float stages[2][WIDTH];
    const int tiles = (n + TILE - 1) / TILE;

    int stage = 0;
    fetch(stages[0], in, blockIdx.x, n);
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        if (tile + gridDim.x < tiles)
            fetch(stages[stage ^ 1], in, tile + gridDim.x, n);
        else
            __pipeline_commit();  // an empty group, so that the one to wait for is always the last but one
        __pipeline_wait_prior(1);
        __syncthreads();

        float sum = 0.0f;
        for (int i = 0; i <= 2 * RADIUS; ++i)
            sum += stages[stage][threadIdx.x + i];
        int at = tile * TILE + threadIdx.x;
        if (at < n)
            out[at] = sum / (2 * RADIUS + 1);

        __syncthreads();  // before the next but one tile lands in this stage
        stage ^= 1;
    }
}
