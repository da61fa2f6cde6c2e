#include <cuda_bf16.h>
using bf16 = __nv_bfloat16;
constexpr int bM = 128, bN = 128, bK = 32, STAGES = 3, THREADS = 128, TILE = 128 * bK;

// Swizzle<2,3,3> on rows of 32: where in a buffer a row's vector of 8 elements is
__device__ int place(int row, int vector) { return row * bK + (vector ^ (row / 2 % 4)) * 8; }

// column of the MMA -> column of the tile: 4 neighboring atoms give a lane 8 neighbors in memory
__device__ int column(int s) { return s / 32 * 32 + s % 8 / 2 * 8 + s % 32 / 8 * 2 + s % 2; }

__device__ unsigned in_smem(const bf16 *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void copy_async(bf16 *to, const bf16 *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(in_smem(to)), "l"(from) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int open> __device__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(open) : "memory"); }

__device__ void ldmatrix(unsigned (&r)[4], const bf16 *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(in_smem(row)) : "memory");
}
__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(THREADS)
gemm(const bf16 *a, const bf16 *b, bf16 *c, int m, int n, int k) {
  extern __shared__ __align__(128) bf16 smem[];
  bf16 *sA = smem, *sB = smem + STAGES * TILE;
  int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  int down = warp % 2 * 64, across = warp / 2 * 64;  // a warp's 64x64 of the tile
  int row = blockIdx.x % (m / bM) * bM, col = blockIdx.x / (m / bM) * bN;
  int k_tiles = k / bK;

  float acc[4][8][4] = {};  // M atoms, N atoms, registers of an atom
  unsigned rA[2][4][4], rB[2][4][4];  // K blocks, ldmatrix.x4, registers

  auto load = [&](int k_tile, int buffer) {
#pragma unroll
    for (int i = 0; i < TILE / 8 / THREADS; ++i) {
      int r = i * THREADS / 4 + thread / 4, v = thread % 4, at = buffer * TILE + place(r, v);
      copy_async(sA + at, a + (size_t)(row + r) * k + k_tile * bK + v * 8);
      copy_async(sB + at, b + (size_t)(col + column(r)) * k + k_tile * bK + v * 8);
    }
  };
  auto fetch = [&](int k_block, int buffer) {
    for (int i = 0; i < 4; ++i) {
      int r = down + 16 * i + lane % 16;
      ldmatrix(rA[k_block][i], sA + buffer * TILE + place(r, 2 * k_block + lane / 16));
    }
    for (int j = 0; j < 4; ++j) {
      int r = across + 16 * j + lane % 8 + lane / 16 * 8;
      ldmatrix(rB[k_block][j], sB + buffer * TILE + place(r, 2 * k_block + lane / 8 % 2));
    }
  };
  auto multiply = [&](int k_block) {
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 8; ++j)
        mma(acc[i][j], rA[k_block][i], rB[k_block][j / 2][j % 2 * 2], rB[k_block][j / 2][j % 2 * 2 + 1]);
  };

#pragma unroll
  for (int k_tile = 0; k_tile < STAGES - 1; ++k_tile) {
    if (k_tile < k_tiles) load(k_tile, k_tile);
    commit();
  }
  wait<STAGES - 2>();
  __syncthreads();
  fetch(0, 0);
  int read = 0, write = STAGES - 1;
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    if (k_tile + STAGES - 1 < k_tiles) load(k_tile + STAGES - 1, write);
    commit();
    write = read;
    fetch(1, read);
    multiply(0);
    read = (read + 1) % STAGES;
    wait<STAGES - 2>();
    __syncthreads();
    fetch(0, read);
    multiply(1);
  }

  for (int i = 0; i < 4; ++i)
    for (int half = 0; half < 2; ++half)
      for (int rest = 0; rest < 2; ++rest) {
        __nv_bfloat162 eight[4];
        for (int atom = 0; atom < 4; ++atom) {
          const float *two = acc[i][4 * rest + atom] + 2 * half;
          eight[atom] = __floats2bfloat162_rn(two[0], two[1]);
        }
        int r = row + down + 16 * i + 8 * half + lane / 4, at = col + across + 32 * rest + lane % 4 * 8;
        *(uint4 *)(c + (size_t)r * n + at) = *(uint4 *)eight;
      }
}
