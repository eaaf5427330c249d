#pragma once

#include <functional>
#include <memory>

#include "worker/worker_main.h"

namespace tunebook {

// Serves compile requests from the channel on several threads, each with a backend of its own, until the channel closes; replies
// are sent as they become ready. `first` serves on one thread; the others make theirs with `make_backend`, which must be safe
// beside a compile. False if there was an exception, in a thread or about a request: it was printed, and compiles that had begun had a
// moment to be answered.
bool serve_compiles(int fd, int threads, std::unique_ptr<CompilerBackend> first,
                    const std::function<std::unique_ptr<CompilerBackend>()>& make_backend);

}  // namespace tunebook
