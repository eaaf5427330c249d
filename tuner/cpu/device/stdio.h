#pragma once
// tunebook_cpu.h has what kernels use of this header; the real one would clash with it.
