"""The right sources that the wrong answers to notebook 08 are made of."""

from collections.abc import Callable

from tutorlib.kernels.cpp.gemm import Variant

ADD = """
__tile_global__ void vector_add(const float* a, const float* b, float* c, int n) {
    auto A = ct::partition_view{ct::tensor_span{a, ct::extents{n}}, ct::shape{1024_ic}};
    auto B = ct::partition_view{ct::tensor_span{b, ct::extents{n}}, ct::shape{1024_ic}};
    auto C = ct::partition_view{ct::tensor_span{c, ct::extents{n}}, ct::shape{1024_ic}};
    int i = ct::bid().x;
    C.store_masked(A.load_masked(i) + B.load_masked(i), i);
}
"""
FIRST = Variant(restrict=False, aligned=False, divisible=0).source
PROMISING = Variant().source
PERSISTENT = Variant(group=8, persistent=True).source
LAUNCH = "vector_add<<<(n + 1023) / 1024, 1>>>(x, y, z, n);"
COPY_A = "cudaMemcpy(x, a, bytes, cudaMemcpyHostToDevice);"
COPY_BACK = "cudaMemcpy(c, z, bytes, cudaMemcpyDeviceToHost);"
HOST = """
void add_on_gpu(const float* a, const float* b, float* c, int n) {
    float *x, *y, *z;
    size_t bytes = n * sizeof(float);
    cudaMalloc(&x, bytes);
    cudaMalloc(&y, bytes);
    cudaMalloc(&z, bytes);
    cudaMemcpy(x, a, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(y, b, bytes, cudaMemcpyHostToDevice);
    LAUNCH
    if (cudaError_t error = cudaGetLastError()) std::fprintf(stderr, "%s\\n", cudaGetErrorString(error));
    cudaMemcpy(c, z, bytes, cudaMemcpyDeviceToHost);
    cudaFree(x);
    cudaFree(y);
    cudaFree(z);
}
""".replace("LAUNCH", LAUNCH)


def answer(name: str, what: str, source: object, old: str = "", new: str = "", says: str = "") -> Callable[[], object]:
    """An answer that returns this source, with something changed in it.

    what: is wrong with it. says: words that the message about it must have.
    """
    assert not old or old in source

    def wrong():
        return source.replace(old, new) if old else source

    wrong.__name__, wrong.__doc__ = name, what
    wrong.says = (says,) if says else ()
    return wrong
