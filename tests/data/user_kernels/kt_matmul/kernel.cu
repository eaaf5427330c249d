// C = A * B for square matrices whose width is known when the kernel is compiled. A block computes a tile of
// (block_size_y * tile_size_y) x (block_size_x * tile_size_x) elements, a thread tile_size_y x tile_size_x of them, a block apart
// from each other. Parameters are named as Kernel Tuner names them.
#ifndef WIDTH
#define WIDTH 1024
#endif
#ifndef block_size_x
#define block_size_x 16
#endif
#ifndef block_size_y
#define block_size_y 16
#endif
#ifndef tile_size_x
#define tile_size_x 1
#endif
#ifndef tile_size_y
#define tile_size_y 1
#endif

// The staged tile of A is square: as deep as it has rows.
#define DEPTH block_size_x

__global__ void kt_matmul(float *C, const float *A, const float *B)
{
    __shared__ float a_tile[block_size_y * tile_size_y][DEPTH];
    __shared__ float b_tile[DEPTH][block_size_x * tile_size_x];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int column = blockIdx.x * block_size_x * tile_size_x + tx;
    const int row = blockIdx.y * block_size_y * tile_size_y + ty;

    float sum[tile_size_y][tile_size_x];
    #pragma unroll
    for (int i = 0; i < tile_size_y; i++) {
        #pragma unroll
        for (int j = 0; j < tile_size_x; j++) {
            sum[i][j] = 0.0f;
        }
    }

    for (int k = 0; k < WIDTH; k += DEPTH) {
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < tile_size_y; i++) {
            const int r = i * block_size_y + ty;
            a_tile[r][tx] = A[(row + i * block_size_y) * WIDTH + k + tx];
            #pragma unroll
            for (int j = 0; j < tile_size_x; j++) {
                b_tile[r][j * block_size_x + tx] = B[(k + r) * WIDTH + column + j * block_size_x];
            }
        }
        __syncthreads();

        #pragma unroll
        for (int p = 0; p < DEPTH; p++) {
            #pragma unroll
            for (int i = 0; i < tile_size_y; i++) {
                const float a = a_tile[i * block_size_y + ty][p];
                #pragma unroll
                for (int j = 0; j < tile_size_x; j++) {
                    sum[i][j] += a * b_tile[p][j * block_size_x + tx];
                }
            }
        }
    }

    #pragma unroll
    for (int i = 0; i < tile_size_y; i++) {
        #pragma unroll
        for (int j = 0; j < tile_size_x; j++) {
            C[(row + i * block_size_y) * WIDTH + column + j * block_size_x] = sum[i][j];
        }
    }
}
