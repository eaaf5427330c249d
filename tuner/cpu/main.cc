#include "cpu/cpu_backend.h"

int main(int argc, char** argv) { return tunebook::worker_main(argc, argv, tunebook::cpu_backend_factory()); }
