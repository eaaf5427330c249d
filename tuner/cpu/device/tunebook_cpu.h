#pragma once

// CUDA C++ on the host: what kernel source may use without including anything. Needs no standard library header, so that a
// kernel compiles in a fraction of a second. Included before the kernel by the unit that tunebook-cpu-worker generates.

#define TUNEBOOK_CPU 1

#include "tunebook_cpu/abi.h"
#include "tunebook_cpu/types.h"
#include "tunebook_cpu/execution.h"
#include "tunebook_cpu/math.h"
#include "tunebook_cpu/bits.h"
#include "tunebook_cpu/memory.h"
#include "tunebook_cpu/atomics.h"
#include "tunebook_cpu/warp.h"
#include "tunebook_cpu/invoke.h"
