#pragma once

namespace tunebook {

// Elementary functions from the four operations and square roots alone, which IEEE 754 rounds alike everywhere. Those of the C
// library differ between versions in the last bit, and a strategy's choice may hang on it. About 1e-14 relative error.
// The box is compiled with -ffp-contract=off for the same reason.

double portable_log(double x);   // natural logarithm; x > 0 and finite
double portable_exp(double x);   // 0 below -700, largest finite above 700
// Mean of max(z + x, 0) for standard normal x: how much a normal quantity is expected to fall below a goal that lies z standard
// deviations above its mean, in standard deviations. Absolute error below 1e-6 (1 + |z|).
double expected_improvement(double z);

}  // namespace tunebook
