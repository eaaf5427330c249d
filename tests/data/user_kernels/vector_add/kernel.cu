// Adds two vectors; each thread handles ITEMS_PER_THREAD elements, a block apart from each other.
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef ITEMS_PER_THREAD
#define ITEMS_PER_THREAD 1
#endif

extern "C" __global__ void vector_add(float *c, const float *a, const float *b, int n) {
    int first = blockIdx.x * BLOCK_SIZE * ITEMS_PER_THREAD + threadIdx.x;

    #pragma unroll
    for (int i = 0; i < ITEMS_PER_THREAD; i++) {
        int index = first + i * BLOCK_SIZE;
        if (index < n) {
            c[index] = a[index] + b[index];
        }
    }
}
