// Softmax of each row, one block a row: a thread's maximum and sum are found in one pass, blocks merge them in a tree.
#include <math_constants.h>

#define THREADS 128

struct Partial {
    float max, sum;  // sum of exp(x - max)
};

__device__ Partial merge(Partial a, Partial b) {
    float max = fmaxf(a.max, b.max);
    if (max == -CUDART_INF_F)
        return {max, 0.0f};
    return {max, a.sum * __expf(a.max - max) + b.sum * __expf(b.max - max)};
}

__global__ void softmax(float* out, const float* in, int columns) {
    __shared__ Partial partial[THREADS];
    const float* row = in + blockIdx.x * columns;
    const int t = threadIdx.x;

    Partial mine = {-CUDART_INF_F, 0.0f};
    for (int i = t; i < columns; i += THREADS)
        mine = merge(mine, {row[i], 1.0f});
    partial[t] = mine;
    __syncthreads();

    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) {
            partial[t] = merge(partial[t], partial[t + half]);
        }
        __syncthreads();
    }

    for (int i = t; i < columns; i += THREADS)
        out[blockIdx.x * columns + i] = __expf(row[i] - partial[0].max) / partial[0].sum;
}
