// total[0] += the sum of x: threads stride over the grid, warps reduce by shuffles, blocks by an atomic.
__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

__global__ void reduce(const float* __restrict__ x, float* total, int n) {
    __shared__ float partial[32];  // of each warp
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];

    sum = warp_sum(sum);
    if (lane == 0)
        partial[warp] = sum;
    __syncthreads();

    if (warp == 0) {
        sum = lane < blockDim.x / 32 ? partial[lane] : 0.0f;
        sum = warp_sum(sum);
        if (lane == 0)
            atomicAdd(total, sum);
    }
}
