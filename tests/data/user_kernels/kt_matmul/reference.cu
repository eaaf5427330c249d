#ifndef WIDTH
#define WIDTH 1024
#endif

__global__ void kt_matmul_reference(float *C, const float *A, const float *B)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y;
    if (column >= WIDTH)
        return;
    double sum = 0.0;
    for (int k = 0; k < WIDTH; k++)
        sum += (double)A[row * WIDTH + k] * (double)B[k * WIDTH + column];
    C[row * WIDTH + column] = (float)sum;
}
