#include "cpu/asan_hooks.h"

#include <dlfcn.h>

#include "cpu/asan_runtime.h"

namespace tunebook {
namespace {

template <class Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

AsanHooks load_hooks() {
  AsanHooks hooks;
  if (!sanitizer_wanted()) return hooks;
  find(hooks.start_switch_fiber, "__sanitizer_start_switch_fiber");
  find(hooks.finish_switch_fiber, "__sanitizer_finish_switch_fiber");
  find(hooks.poison, "__asan_poison_memory_region");
  find(hooks.unpoison, "__asan_unpoison_memory_region");
  const bool complete = hooks.start_switch_fiber != nullptr && hooks.finish_switch_fiber != nullptr && hooks.poison != nullptr &&
                        hooks.unpoison != nullptr;
  return complete ? hooks : AsanHooks{};
}

}  // namespace

const AsanHooks kAsanHooks = load_hooks();

}  // namespace tunebook
