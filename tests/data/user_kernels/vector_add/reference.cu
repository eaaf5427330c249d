extern "C" __global__ void vector_add_reference(float *c, const float *a, const float *b, int n) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < n) {
        c[index] = (float)((double)a[index] + (double)b[index]);
    }
}
