// counts[b] += how many of x are b: each block counts in shared memory, then adds its counts to the grid's.
#define BINS 256

__global__ void histogram(unsigned* counts, const unsigned char* x, int n) {
    extern __shared__ unsigned mine[];  // (BINS)
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        mine[bin] = 0;
    __syncthreads();
    const uchar4* four = reinterpret_cast<const uchar4*>(x);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        uchar4 value = four[i];
        atomicAdd(&mine[value.x], 1u);
        atomicAdd(&mine[value.y], 1u);
        atomicAdd(&mine[value.z], 1u);
        atomicAdd(&mine[value.w], 1u);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        atomicAdd(&counts[bin], mine[bin]);
}
