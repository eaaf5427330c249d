#pragma once

// Two declarations that tests of the spec start from, and what changes them.

#include <exception>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json_text.h"
#include "core/spec.h"

namespace tunebook {

// The example of the design document.
inline constexpr const char* kVectorAdd = R"json({
  "tunebook": 1,
  "kernel": "vector_add",
  "summary": "c = a + b",
  "source": "kernel.cu", "entry": "vector_add", "instantiate": ["T", "BLOCK", "ITEMS"],
  "problem": {
    "n": {"default": 16777216, "verify": [1, 1023, 1048577]},
    "dtype": {"values": ["f32", "f16"], "default": "f32"} },
  "parameters": {
    "BLOCK": {"values": [64, 128, 256, 512], "help": "threads per block"},
    "ITEMS": {"values": [1, 2, 4, 8], "help": "elements per thread"} },
  "constraints": ["BLOCK * ITEMS <= 4096"],
  "presets": {"default": {"BLOCK": 256, "ITEMS": 4}},
  "launch": {"block": ["BLOCK"], "grid": ["ceil_div(n, BLOCK * ITEMS)"], "shared_bytes": "0"},
  "arguments": [
    {"name": "c", "type": "T*", "count": "n", "access": "out"},
    {"name": "a", "type": "T*", "count": "n", "access": "in", "fill": "uniform(-1, 1)"},
    {"name": "b", "type": "T*", "count": "n", "access": "in", "fill": "uniform(-1, 1)"},
    {"name": "n", "type": "i64", "value": "n"} ],
  "reference": {"source": "reference.cu", "entry": "vector_add_reference", "block": ["256"], "grid": ["ceil_div(n, 256)"]},
  "tolerance": {"f32": {"rel": "2 * eps", "abs": "0"}, "f16": {"rel": "2 * eps", "abs": "0"}},
  "work": {"flops": "n", "bytes": "3 * n * sizeof(T)"}
})json";

// Uses every key there is.
inline constexpr const char* kEverything = R"json({
  "tunebook": 1, "kernel": "tiled", "summary": "everything", "source": "src/kernel.cu", "entry": "ns::tiled", "instantiate": "macros",
  "define": ["T", "k"], "options": ["--use_fast_math", "-DX=1"],
  "problem": {
    "m": {"default": 128, "verify": [1, 17, 100], "help": "rows"},
    "n": {"default": 256, "verify": [5]},
    "k": {"default": 64},
    "dtype": {"values": ["f32", "i32"], "default": "f32", "help": "elements"},
    "math": {"values": ["exact", "fast"], "default": "exact"},
    "verify": [{"m": 3, "n": 4, "k": 5}, {"m": 7, "n": 7, "k": 7, "dtype": "i32"}] },
  "parameters": {
    "TILE": {"values": [8, 16]}, "PAD": {"values": [false, true]}, "ACC": {"values": ["f32", "f64"], "type": true},
    "LAYOUT": {"values": ["row", "column"], "help": "of a"} },
  "constraints": ["TILE * TILE <= device.max_threads_per_block", "not PAD or m >= 1", "sizeof(ACC) >= 4"],
  "presets": {"default": [{"when": "m <= 8 and device.kind == 'cuda'", "preset": "small"}, {"preset": "usual"}],
    "usual": {"TILE": 16, "PAD": true, "ACC": "f32", "LAYOUT": "row"}, "small": {"LAYOUT": "column", "TILE": 8, "PAD": false, "ACC": "f64"}},
  "launch": {"block": ["TILE", "TILE"], "grid": ["ceil_div(n, TILE)", "ceil_div(m, TILE)", 1], "shared_bytes": "TILE * TILE * sizeof(T)", "static_shared_bytes": "64"},
  "arguments": [
    {"name": "c", "type": "T*", "count": "m * n", "access": "inout", "fill": "uniform_int(-3, 3)"},
    {"name": "a", "type": "f64*", "count": "m * k", "access": "in", "fill": "normal(1, 0.5)", "special": ["nan", "-0", "max"]},
    {"name": "sum", "type": "f32*", "count": "m", "access": "inout", "fill": "zero"},
    {"name": "index", "type": "u32*", "count": "k", "access": "in", "fill": "iota(0, 1)"},
    {"name": "flags", "type": "u8*", "count": "1", "access": "out"},
    {"name": "alpha", "type": "T", "value": "1.5"},
    {"name": "m", "type": "i32", "value": "m"} ],
  "reference": {"source": "reference.cu", "entry": "tiled_reference", "instantiate": ["T"], "block": ["16", 16], "grid": ["ceil_div(n, 16)", "ceil_div(m, 16)"], "shared_bytes": "0"},
  "tolerance": {"f32": {"rel": "0", "abs": "2 * sqrt(k) * eps * scale"}},
  "work": {"flops": "2 * m * n * k", "bytes": "1.5 * m"},
  "features": {"waste": "round_up(m, TILE) * round_up(n, TILE) / (m * n)", "deep": "k // TILE > 4"},
  "arch": "TILE == 16 and device.compute_capability >= 90 ? 'sm_90a' : native",
  "cpu": "TILE <= 16", "nondeterministic": "TILE == 8", "restore": "PAD or TILE == 8",
  "baseline": {"operation": "gemm", "buffers": ["c", "a", "sum"], "parameters": {"m": "m", "n": "n", "k": "k", "alpha": "1.5", "math": "'ieee'"}, "when": "dtype == 'f32'"}
})json";

inline nlohmann::ordered_json vector_add() { return parse_json_text(kVectorAdd, "kernel.json"); }
inline nlohmann::ordered_json everything() { return parse_json_text(kEverything, "kernel.json"); }
inline KernelSpec spec_of(const char* text) { return KernelSpec::parse(parse_json_text(text, "kernel.json"), "kernel.json"); }

inline std::string error_of(const nlohmann::ordered_json& json) {
  try {
    KernelSpec::parse(json, "kernel.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

inline nlohmann::ordered_json with(nlohmann::ordered_json json, const char* pointer, const char* value) {
  json[nlohmann::ordered_json::json_pointer(pointer)] = nlohmann::ordered_json::parse(value);
  return json;
}
inline nlohmann::ordered_json without(nlohmann::ordered_json json, const char* parent, const char* key) {
  json[nlohmann::ordered_json::json_pointer(parent)].erase(key);
  return json;
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\"\nlacks \"" << part << "\"";
}

}  // namespace tunebook
