// Values handed from thread to thread, each with the order that it needs and without.
#include <cooperative_groups.h>

template <bool Ordered>
__global__ void through_global(const float* x, float* tmp, float* y) {
    tmp[threadIdx.x] = x[threadIdx.x];
    if (Ordered) __syncthreads();
    y[threadIdx.x] = tmp[blockDim.x - 1 - threadIdx.x];
}

template <bool Ordered>
__global__ void __cluster_dims__(2, 1, 1) through_neighbor(const float* x, float* y) {
    __shared__ float mine[32];
    auto cluster = cooperative_groups::this_cluster();
    const int at = blockIdx.x * 32 + threadIdx.x;
    mine[threadIdx.x] = x[at];
    if (Ordered) cluster.sync();
    y[at] = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1)[threadIdx.x];
    cluster.sync();
}
