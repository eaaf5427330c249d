__global__ void matmul_tiled_reference(float *C, const float *A, const float *B, int m, int n, int k)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= m * n)
        return;
    int row = index / n;
    int col = index % n;
    double sum = 0.0;
    for (int i = 0; i < k; ++i)
        sum += (double)A[row * k + i] * (double)B[i * n + col];
    C[index] = (float)sum;
}
