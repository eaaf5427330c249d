#include "cuda/cuda_backend.h"
#include "worker/worker_main.h"

int main(int argc, char** argv) {
  return tunebook::worker_main(argc, argv, {tunebook::make_cuda_compiler, tunebook::make_cuda_runner});
}
