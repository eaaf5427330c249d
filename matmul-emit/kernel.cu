// m=4096,n=4096,k=4096,dtype=f16,math=tensor,ta=n,tb=n,epilogue=alpha_beta
// PATH=pipelined,BM=128,BN=128,BK=32,TM=8,TN=16,WM=64,WN=64,PAD=4,VEC=8,UNROLL=16,STAGES=3,A_COLUMN_MAJOR=1,FRAGMENTS=1,FMA_ORDER=0,GROUP=1,SLICES=1,SPLIT=1,SUMS=0,BLOCKS=1,PAD_COPY=0
// instantiated as: matmul_pipelined<__half, tensor, n, n, alpha_beta, 128, 128, 32, 8, 16, 64, 64, 4, 8, 16, 3, 1, 0, 1, 1, 1, 0, 1, 0>
#line 1 "kernel.cu"
// C = A * B, or alpha * A * B + beta * C_in; row-major. A is m x k (or kept as k x m), B is k x n (or kept as n x k), C is m x n. Every
// m, n, k >= 1 is right.
//
// The ways, each a kernel and a value of PATH in kernel.json, from the first of the textbook ladder to the fastest:
//   naive        one result per thread, no shared memory                                          naive.cuh
//   tiled        tiles in shared memory; padding, wide loads, a block of results per thread       tiled.cuh
//   pipelined    asynchronous copies, several tiles in flight, warp tiles, k split in the block   pipelined.cuh (operand.cuh, thread_tile.cuh)
//                and over blocks (split_k.cuh), copies with aligned rows first (pad_copy.cuh);
//                f16 and bf16 with math = tensor: on tensor cores                                 tensor_core.cuh
//   warpgroups   f16 and bf16 with math = tensor on sm_90a: products by warpgroups              warpgroups.cuh
//   few_rows, few_columns   C of at most 16 rows or columns: a large matrix is read once          thin.cuh
//
// Blocks and grids are one-dimensional: no dimension of C meets the limit of 65535 blocks along y.
#include "element.cuh"
#include "naive.cuh"
#include "pack.cuh"
#include "pipelined.cuh"
#include "thin.cuh"
#include "tiled.cuh"
#include "warpgroups.cuh"
