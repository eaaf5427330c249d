__global__ void convolution_2d_reference(float *output, const float *input, const float *filter,
                                         int width, int height, int radius)
{
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= width * height)
        return;
    const int x = index % width;
    const int y = index / width;
    double sum = 0.0;
    for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius; ++dx)
            if (x + dx >= 0 && x + dx < width && y + dy >= 0 && y + dy < height)
                sum += (double)input[(y + dy) * width + x + dx] *
                       (double)filter[(dy + radius) * (2 * radius + 1) + dx + radius];
    output[index] = (float)sum;
}
