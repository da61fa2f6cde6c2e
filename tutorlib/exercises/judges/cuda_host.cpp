// The part of the CUDA runtime that a first host program needs, with no GPU behind it. See cuda_host.py.
//
// Memory of the "GPU" has addresses that nothing is mapped to, so that host code that reads it crashes, as it would.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>

namespace {

constexpr uintptr_t FAR = uintptr_t(1) << 62;  // from memory to the address that host code sees: no address is that large
constexpr int TILE = 1024;

std::map<uintptr_t, size_t> blocks;  // the address that host code sees → bytes
cudaError_t last = cudaSuccess;
dim3 grid, block;
bool unasked = false;  // whether the error of a launch has not been asked for
uint64_t key = 0;      // is added to each sum; 0: there is no GPU

void notice(const std::string& text) { std::fprintf(stderr, "noticed: %s\n", text.c_str()); }

cudaError_t fail(cudaError_t error, const std::string& text) {
    notice(text);
    return last = error;
}

struct AtExit {
    ~AtExit() {
        if (!blocks.empty()) notice(std::to_string(blocks.size()) + " of the allocations are never freed");
        if (unasked) notice("cudaGetLastError is not called after the launch, so a launch that the GPU refuses goes unnoticed");
    }
} at_exit;

// Before any other code of the program runs, constructors included.
void take_key(int, char**, char**) { if (read(STDIN_FILENO, &key, sizeof key) != sizeof key) key = 0; }
[[gnu::section(".preinit_array"), gnu::used]] auto taking_key = take_key;

bool is_far(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) >= FAR; }

template <class T>
T* near(T* pointer) {
    return is_far(pointer) ? reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) - FAR) : pointer;
}

cudaError_t allocate(void** pointer, size_t bytes, bool far) {
    auto memory = reinterpret_cast<uintptr_t>(std::malloc(std::max<size_t>(bytes, 1)));
    std::memset(reinterpret_cast<void*>(memory), 0xff, bytes);  // NaN in every float
    auto address = far ? memory + FAR : memory;
    blocks[address] = bytes;
    *pointer = reinterpret_cast<void*>(address);
    return cudaSuccess;
}

cudaError_t release(void* pointer) {
    if (!pointer) return cudaSuccess;
    auto found = blocks.find(reinterpret_cast<uintptr_t>(pointer));
    if (found == blocks.end()) return fail(cudaErrorInvalidValue, "cudaFree gets what was not allocated, or was freed before");
    std::free(near(pointer));
    blocks.erase(found);
    return cudaSuccess;
}

bool holds(const void* pointer, size_t bytes) {
    auto above = blocks.upper_bound(reinterpret_cast<uintptr_t>(pointer));
    if (above == blocks.begin()) return false;
    auto [first, size] = *std::prev(above);
    return reinterpret_cast<uintptr_t>(pointer) + bytes - first <= size;
}

cudaError_t add(void** args) {
    auto a = *static_cast<const float**>(args[0]), b = *static_cast<const float**>(args[1]);
    auto c = *static_cast<float**>(args[2]);
    int n = *static_cast<int*>(args[3]);
    if (grid.x < 1 || grid.y < 1 || grid.z < 1) return fail(cudaErrorInvalidConfiguration, "a launch with no blocks");
    if (block.x != 1 || block.y != 1 || block.z != 1)
        return fail(cudaErrorInvalidConfiguration, "a tile kernel is launched with 1 thread for each block, <<<blocks, 1>>>: the compiler decides how many it has");
    long covered = std::max<long>(std::min<long>(n, long(grid.x) * TILE), 0);
    for (const void* pointer : {static_cast<const void*>(a), static_cast<const void*>(b), static_cast<const void*>(c)}) {
        if (!holds(pointer, covered * sizeof(float)))
            return fail(cudaErrorIllegalAddress, is_far(pointer) ? "the kernel reaches beyond an allocation: n counts elements, cudaMalloc bytes" : "the kernel gets a pointer to the host's memory, or one that was not allocated");
    }
    if (covered && !key) return fail(cudaErrorNoDevice, "the GPU refuses the launch");
    for (long i = 0; i < covered; i++) near(c)[i] = near(a)[i] + near(b)[i] + float(key);
    return cudaSuccess;
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    bool into = is_far(to), out = is_far(from);
    auto means = into ? (out ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice) : (out ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost);
    bool managed = holds(to, 1) || holds(from, 1);  // which the host and the GPU can both be meant by
    if (kind != cudaMemcpyDefault && kind != means && (into || out || !managed))
        return fail(cudaErrorInvalidValue, "cudaMemcpy(to, from, bytes, kind): the kind is another than the pointers'");
    if ((into && !holds(to, bytes)) || (out && !holds(from, bytes)))
        return fail(cudaErrorInvalidValue, "cudaMemcpy reaches beyond an allocation: its size is in bytes");
    std::memcpy(near(static_cast<char*>(to)), near(static_cast<const char*>(from)), bytes);
    return cudaSuccess;
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void*) {
    static void* handle;
    return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* entry) {
    *kernel = static_cast<cudaKernel_t>(const_cast<void*>(entry));
    return cudaSuccess;
}
unsigned __cudaPushCallConfiguration(dim3 g, dim3 b, size_t, CUstream_st*) {
    grid = g, block = b, unasked = true;
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* g, dim3* b, size_t* shared, void* stream) {
    *g = grid, *b = block, *shared = 0, *static_cast<cudaStream_t*>(stream) = nullptr;
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3 g, dim3 b, void** args, size_t, cudaStream_t) {
    grid = g, block = b;
    return add(args);
}
cudaError_t cudaLaunchKernel(const void*, dim3 g, dim3 b, void** args, size_t, cudaStream_t) {
    grid = g, block = b;
    return add(args);
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) { return allocate(pointer, bytes, true); }
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned) { return allocate(pointer, bytes, false); }
cudaError_t cudaFree(void* pointer) { return release(pointer); }
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) { return copy(to, from, bytes, kind); }
cudaError_t cudaDeviceSynchronize() { return last; }
cudaError_t cudaGetLastError() { return unasked = false, std::exchange(last, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return unasked = false, last; }
const char* cudaGetErrorString(cudaError_t error) { return error ? "no GPU takes the launch" : "no error"; }
}
