#include <tunebook/cuda_device.h>
