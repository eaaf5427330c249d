#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tunebook {

// Element types of buffers, scalars and type parameters.
enum class DType { f16, bf16, f32, f64, i8, u8, i16, u16, i32, u32, i64, u64, boolean };

// "f32" and so on, as written in kernel.json ("bool" for boolean).
std::string_view dtype_name(DType type);
std::optional<DType> parse_dtype(std::string_view name);
// Comma-separated list of all names, for messages.
std::string_view dtype_names();

// Bytes per element.
std::size_t dtype_size(DType type);
bool is_floating(DType type);
// Unit roundoff (half an ulp at 1) of a floating type: 2^-11 for f16, 2^-8 for bf16, 2^-24 for f32, 2^-53 for f64; 0 otherwise.
double unit_roundoff(DType type);
// CUDA C++ spelling used in name expressions and macros: "float", "__half", "__nv_bfloat16", "long long", ...
std::string_view cuda_type_name(DType type);

// One element at `bytes` widened to double (exact for every type but 64-bit integers).
double load_as_double(DType type, const void* bytes);
// Stores `value`, rounded to nearest even; integers are truncated.
void store_from_double(DType type, double value, void* bytes);

// Whether an integer type has the value (bool: 0 and 1). True for floating types.
bool integer_fits(DType type, std::int64_t value);

// A kernel's scalar argument, as bytes: `real` for floating types, `integer` for the others (its low bytes; bool: whether it is not zero).
void store_scalar(DType type, std::int64_t integer, double real, void* bytes);

}  // namespace tunebook
