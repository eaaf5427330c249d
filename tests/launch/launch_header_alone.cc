// The public header is the first and only one.
#include <tunebook/launch.h>

namespace {
[[maybe_unused]] void use(const tunebook::Kernel& kernel, float* c) { kernel(nullptr, c, std::int64_t{1}); }
}  // namespace
