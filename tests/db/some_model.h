#pragma once

#include <cstdint>
#include <string>

#include "core/spec.h"
#include "db/time_model.h"

namespace tunebook::testing {

// The kernel of book_fixture.h (kSpecText), parsed.
KernelSpec fixture_spec();

// A small model of that kernel for f32, "cold/1": three candidates (BM 16, 32, 64 without PAD), two
// tuned problems (64,64,64 and 1024,1024,1024), two trees. Predicted losses, in 2^-20:
//   BM 16: 1000; BM 32: 2000 where m < 512, else 100; BM 64: 3000 where m < 512, else 50; each + 5.
TimeModel some_model();

// Puts the model into the book at `path`, in place of one for the same kernel, device, dtype and
// method. `body`: other bytes than the model's own.
void put_model(const std::string& path, const TimeModel& model, std::int64_t kernel_row = 1,
               std::int64_t device_row = 1);
void put_model_bytes(const std::string& path, const TimeModel& model, const std::string& body,
                     std::int64_t kernel_row = 1, std::int64_t device_row = 1);

}  // namespace tunebook::testing
