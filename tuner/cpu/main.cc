#include "cpu/asan_runtime.h"
#include "cpu/cpu_backend.h"

int main(int argc, char** argv) {
  tunebook::load_asan_runtime(argv);
  return tunebook::worker_main(argc, argv, tunebook::cpu_backend_factory());
}
