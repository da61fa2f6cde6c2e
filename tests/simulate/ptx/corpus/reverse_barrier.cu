// Reverses each block's 64 floats; threads arrive at a barrier in shared memory in place of __syncthreads.
#include <cuda_awbarrier_primitives.h>

__global__ void reverse(float* x) {
    __shared__ float mine[64];
    __shared__ __mbarrier_t barrier;
    if (threadIdx.x == 0)
        __mbarrier_init(&barrier, blockDim.x);
    __syncthreads();
    float* from = x + blockIdx.x * 64;
    mine[threadIdx.x] = from[threadIdx.x];
    __mbarrier_token_t token = __mbarrier_arrive(&barrier);
    while (!__mbarrier_test_wait(&barrier, token)) {
    }
    from[threadIdx.x] = mine[63 - threadIdx.x];
}
