// The part of the CUDA runtime that a first host program needs, with no GPU behind it. See __init__.py.
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
#include <set>
#include <string>
#include <utility>

namespace {

constexpr uintptr_t FAR = uintptr_t(1) << 62;  // from memory to the address that host code sees: no address is that large
constexpr int TILE = 1024;
constexpr size_t SPARE = 3 * TILE * sizeof(float);  // three vectors in one allocation, each rounded up to whole tiles

struct Block {
    size_t bytes;
    bool far;
    size_t used = 0;  // up to the last byte that a copy or the kernel has reached
};

std::map<uintptr_t, Block> blocks;  // by the address that host code sees
cudaError_t last = cudaSuccess;
dim3 grid, block;
size_t dynamic;
cudaStream_t stream_of_launch;

std::set<const void*> written;      // by the kernel, until copied or freed
size_t tiles = 0;                   // of the vectors that launches added, each rounded up to whole ones
size_t moved_bytes = 0, moves = 0;  // by cudaMemcpy and cudaMemset, to, from and within the GPU's memory
bool unasked = false;               // whether the error of a launch has not been asked for
char password[16];                  // only with it does the GPU add: a program that speaks to it past this library has none

void notice(const std::string& text) { std::fprintf(stderr, "noticed: %s\n", text.c_str()); }

cudaError_t fail(cudaError_t error, const std::string& text) {
    notice(text);
    return last = error;
}

struct AtExit {
    ~AtExit() {
        if (!blocks.empty()) notice(std::to_string(blocks.size()) + " of the allocations are never freed");
        if (tiles && moved_bytes > 3 * tiles * TILE * sizeof(float))
            notice("cudaMemcpy and cudaMemset move " + std::to_string(moved_bytes) + " bytes, where each operand has to go to the GPU once, and the sums back once");
        else if (tiles && moves > 6 * tiles)  // a vector of one tile may come in two pieces
            notice("cudaMemcpy and cudaMemset are called " + std::to_string(moves) + " times, and one call can copy a whole vector");
        if (unasked) notice("cudaGetLastError is not called after the launch, so a launch that the GPU refuses goes unnoticed");
    }
} at_exit;

cudaError_t allocate(void** pointer, size_t bytes, bool far) {
    auto memory = reinterpret_cast<uintptr_t>(std::malloc(std::max<size_t>(bytes, 1)));
    std::memset(reinterpret_cast<void*>(memory), 0xff, bytes);  // NaN in every float
    auto address = far ? memory + FAR : memory;
    blocks[address] = {bytes, far};
    *pointer = reinterpret_cast<void*>(address);
    return cudaSuccess;
}

// Takes note that no sums wait in these bytes; true if there were some.
bool forget(const void* pointer, size_t bytes) {
    auto first = written.lower_bound(pointer), end = written.lower_bound(static_cast<const char*>(pointer) + bytes);
    bool some = first != end;
    written.erase(first, end);
    return some;
}

cudaError_t release(void* pointer, const char* by) {
    if (!pointer) return cudaSuccess;
    auto address = reinterpret_cast<uintptr_t>(pointer);
    auto found = blocks.find(address);
    if (found == blocks.end()) return fail(cudaErrorInvalidValue, std::string(by) + " gets what was not allocated, or was freed before");
    auto [bytes, far, used] = found->second;
    if ((used || far) && bytes > used + SPARE)
        notice("an allocation has " + std::to_string(bytes) + " bytes, and " + std::to_string(used) + " are used: its size should follow from n");
    if (forget(pointer, bytes) && far) notice("the sums of a launch are never copied");
    std::free(reinterpret_cast<void*>(far ? address - FAR : address));
    blocks.erase(found);
    return cudaSuccess;
}

// The block that holds these bytes, which are used then, or null.
std::pair<const uintptr_t, Block>* holder(const void* pointer, size_t bytes) {
    auto address = reinterpret_cast<uintptr_t>(pointer);
    auto above = blocks.upper_bound(address);
    if (above == blocks.begin()) return nullptr;
    auto& found = *std::prev(above);
    size_t end = address + bytes - found.first;
    if (end > found.second.bytes) return nullptr;
    found.second.used = std::max(found.second.used, end);
    return &found;
}

bool is_far(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) >= FAR; }

template <class T>
T* near(T* pointer) {
    return is_far(pointer) ? reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) - FAR) : pointer;
}

// Sends or receives this many bytes on the line to the GPU, which is stdin; false where that is none.
template <class Part, class Pointer>
bool moved(Part part, Pointer memory, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        auto n = part(STDIN_FILENO, memory + done, bytes - done);
        if (n <= 0) return false;
        done += n;
    }
    return true;
}

// Before any other code of the program runs, constructors included: the GPU sends the password once.
void take_password(int, char**, char**) { moved(read, password, sizeof password); }
[[gnu::section(".preinit_array"), gnu::used]] auto taking_password = take_password;

// Has the GPU add: another process, whose results this one cannot foresee. See gpu.py.
bool add_there(const float* a, const float* b, float* c, uint32_t n) {
    auto of = [](const void* pointer) { return static_cast<const char*>(pointer); };
    size_t bytes = n * sizeof(float);
    return moved(write, password, sizeof password) && moved(write, of(&n), sizeof n) && moved(write, of(a), bytes) && moved(write, of(b), bytes) &&
           moved(read, reinterpret_cast<char*>(c), bytes);
}

cudaError_t add(void** args) {
    auto a = *static_cast<const float**>(args[0]), b = *static_cast<const float**>(args[1]);
    auto c = *static_cast<float**>(args[2]);
    int n = *static_cast<int*>(args[3]);
    if (grid.x < 1 || grid.y < 1 || grid.z < 1)
        return fail(cudaErrorInvalidConfiguration, "a launch with no blocks");
    if (block.x != 1 || block.y != 1 || block.z != 1)
        return fail(cudaErrorInvalidConfiguration, "a tile kernel is launched with 1 thread for each block, <<<blocks, 1>>>: the compiler decides how many it has");
    if (grid.y > 1 || grid.z > 1) notice("the grid has more than one axis, and vector_add asks for its x alone");
    long reach = long(grid.x) * TILE, covered = std::min<long>(n, reach);
    if (reach - n >= TILE) notice("the last " + std::to_string((reach - n) / TILE) + " blocks have no elements");
    size_t bytes = std::max<long>(covered, 0) * sizeof(float);
    for (const void* pointer : {static_cast<const void*>(a), static_cast<const void*>(b), static_cast<const void*>(c)}) {
        if (!holder(pointer, bytes))
            return fail(cudaErrorIllegalAddress, is_far(pointer) ? "the kernel reaches beyond an allocation: n counts elements, cudaMalloc bytes" : "the kernel gets a pointer to the host's memory, or one that was not allocated");
    }
    if (written.count(c)) notice("two launches write the same sums");
    if (covered > 0 && !add_there(near(a), near(b), near(c), covered)) return fail(cudaErrorNoDevice, "the GPU refuses the launch");
    written.insert(c);
    tiles += (std::max(n, 0) + TILE - 1) / TILE;
    return cudaSuccess;
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    bool into = is_far(to), out = is_far(from);
    auto means = into ? (out ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice) : (out ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost);
    if (kind != cudaMemcpyDefault && kind != means && !holder(to, 1) && !holder(from, 1))
        return fail(cudaErrorInvalidValue, "cudaMemcpy(to, from, bytes, kind): both are the host's memory");
    if (kind != cudaMemcpyDefault && kind != means && (into || out))
        return fail(cudaErrorInvalidValue, std::string("cudaMemcpy(to, from, bytes, kind): the kind is another than the pointers', which go from ") + (out ? "the GPU" : "the host") + " to " + (into ? "the GPU" : "the host"));
    if ((into && !holder(to, bytes)) || (out && !holder(from, bytes)))
        return fail(cudaErrorInvalidValue, "cudaMemcpy reaches beyond an allocation: its size is in bytes");
    std::memcpy(near(static_cast<char*>(to)), near(static_cast<const char*>(from)), bytes);
    forget(from, bytes);
    if (into || out) moved_bytes += bytes, moves++;
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
unsigned __cudaPushCallConfiguration(dim3 g, dim3 b, size_t shared, CUstream_st* stream) {
    grid = g, block = b, dynamic = shared, stream_of_launch = stream, unasked = true;
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* g, dim3* b, size_t* shared, void* stream) {
    *g = grid, *b = block, *shared = dynamic, *static_cast<cudaStream_t*>(stream) = stream_of_launch;
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
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) { return allocate(pointer, bytes, true); }
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned) { return allocate(pointer, bytes, false); }
cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return allocate(pointer, bytes, false); }
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) { return allocate(pointer, bytes, false); }
cudaError_t cudaFree(void* pointer) { return release(pointer, "cudaFree"); }
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return release(pointer, "cudaFreeAsync"); }
cudaError_t cudaFreeHost(void* pointer) { return release(pointer, "cudaFreeHost"); }
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) { return copy(to, from, bytes, kind); }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) { return copy(to, from, bytes, kind); }
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
    if (is_far(to) && !holder(to, bytes)) return fail(cudaErrorInvalidValue, "cudaMemset reaches beyond an allocation");
    std::memset(near(static_cast<char*>(to)), value, bytes);
    if (is_far(to)) moved_bytes += bytes, moves++;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device ? fail(cudaErrorInvalidDevice, "there is one GPU, device 0") : cudaSuccess; }
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    *stream = nullptr;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return last; }
cudaError_t cudaDeviceSynchronize() { return last; }
cudaError_t cudaGetLastError() { return unasked = false, std::exchange(last, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return unasked = false, last; }
const char* cudaGetErrorString(cudaError_t error) { return error ? "no GPU takes the launch" : "no error"; }
const char* cudaGetErrorName(cudaError_t error) { return error ? "cudaErrorNoDevice" : "cudaSuccess"; }
}
