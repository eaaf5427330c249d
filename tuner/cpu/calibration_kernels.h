#pragma once

#include <cstddef>
#include <cstdint>

namespace tunebook {

// Loops for one thread that use the widest vectors of the processor at hand.

// Sum of `count` words, a multiple of 8.
std::uint64_t sum_words(const std::uint64_t* words, std::size_t count);

// Independent chains of x = x * a + b, `steps` of each; returns how many floating-point operations that was. One fused
// instruction each where the processor has it.
double multiply_add_f32(std::int64_t steps, float a, float b);
double multiply_add_f64(std::int64_t steps, double a, double b);

}  // namespace tunebook
