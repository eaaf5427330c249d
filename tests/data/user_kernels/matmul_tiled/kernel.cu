// Tiled matrix multiplication, C = A * B, where A is m x k and B is k x n.
// The rows of the tiles in shared memory are PADDING elements longer than they need be.
#ifndef TILE_SIZE
#define TILE_SIZE 16
#endif
#ifndef PADDING
#define PADDING 1
#endif
#define STRIDE (TILE_SIZE + PADDING)

__global__ void matmul_tiled(float *C, const float *A, const float *B, int m, int n, int k)
{
    __shared__ float tile_a[TILE_SIZE * STRIDE];
    __shared__ float tile_b[TILE_SIZE * STRIDE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_SIZE + ty;
    int col = blockIdx.x * TILE_SIZE + tx;

    float sum = 0.0f;
    for (int t = 0; t < (k + TILE_SIZE - 1) / TILE_SIZE; ++t) {
        int a_col = t * TILE_SIZE + tx;
        int b_row = t * TILE_SIZE + ty;
        tile_a[ty * STRIDE + tx] = (row < m && a_col < k) ? A[row * k + a_col] : 0.0f;
        tile_b[ty * STRIDE + tx] = (b_row < k && col < n) ? B[b_row * n + col] : 0.0f;
        __syncthreads();

        for (int i = 0; i < TILE_SIZE; ++i)
            sum += tile_a[ty * STRIDE + i] * tile_b[i * STRIDE + tx];
        __syncthreads();
    }

    if (row < m && col < n)
        C[row * n + col] = sum;
}
