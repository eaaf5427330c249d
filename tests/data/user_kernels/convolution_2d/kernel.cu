// 2D convolution with a square filter of (2 * radius + 1)^2 weights. The image is zero beyond its border.
// A thread computes ROWS_PER_THREAD outputs below each other; with USE_SHARED the block first stages its part of the image.
#ifndef BLOCK_X
#define BLOCK_X 32
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8
#endif
#ifndef ROWS_PER_THREAD
#define ROWS_PER_THREAD 1
#endif
#ifndef USE_SHARED
#define USE_SHARED 1
#endif
#define TILE_ROWS (BLOCK_Y * ROWS_PER_THREAD)

__device__ float pixel(const float *input, int x, int y, int width, int height)
{
    return (x >= 0 && x < width && y >= 0 && y < height) ? input[y * width + x] : 0.0f;
}

__global__ void convolution_2d(float *output, const float *input, const float *filter,
                               int width, int height, int radius)
{
    const int filter_size = 2 * radius + 1;
    const int x0 = blockIdx.x * BLOCK_X;
    const int y0 = blockIdx.y * TILE_ROWS;
    const int x = x0 + threadIdx.x;

#if USE_SHARED
    extern __shared__ float tile[];
    const int tile_width = BLOCK_X + 2 * radius;
    const int tile_height = TILE_ROWS + 2 * radius;
    for (int ty = threadIdx.y; ty < tile_height; ty += BLOCK_Y)
        for (int tx = threadIdx.x; tx < tile_width; tx += BLOCK_X)
            tile[ty * tile_width + tx] = pixel(input, x0 + tx - radius, y0 + ty - radius, width, height);
    __syncthreads();
#endif

    for (int r = 0; r < ROWS_PER_THREAD; ++r) {
        const int ty = threadIdx.y + r * BLOCK_Y;
        const int y = y0 + ty;
        float sum = 0.0f;
        for (int fy = 0; fy < filter_size; ++fy)
            for (int fx = 0; fx < filter_size; ++fx) {
#if USE_SHARED
                float value = tile[(ty + fy) * tile_width + threadIdx.x + fx];
#else
                float value = pixel(input, x + fx - radius, y + fy - radius, width, height);
#endif
                sum += value * filter[fy * filter_size + fx];
            }
        if (x < width && y < height)
            output[y * width + x] = sum;
    }
}
