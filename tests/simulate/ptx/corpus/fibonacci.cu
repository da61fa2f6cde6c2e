// x = the Fibonacci numbers, by a function that the compiler cannot inline.
__device__ __noinline__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__global__ void fill(int* x) {
    x[threadIdx.x] = fibonacci(threadIdx.x);
}
