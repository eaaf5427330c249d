#pragma once

#include "worker/worker_main.h"

namespace tunebook {

// The `cpu` device's compiler and runner, for worker_main.
BackendFactory cpu_backend_factory();

}  // namespace tunebook
