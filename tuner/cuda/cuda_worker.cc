#include "cuda/baseline_module.h"
#include "cuda/clock_holder.h"
#include "cuda/cuda_backend.h"
#include "worker/worker_main.h"

int main(int argc, char** argv) {
  if (tunebook::is_clock_holder(argc, argv)) return tunebook::hold_clocks(argc, argv);
  if (tunebook::is_baseline_listing(argc, argv)) return tunebook::list_baselines();
  return tunebook::worker_main(argc, argv, {tunebook::make_cuda_compiler, tunebook::make_cuda_runner});
}
