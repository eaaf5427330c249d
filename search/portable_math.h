#pragma once

namespace tunebook {

// Elementary functions from the four operations and square roots alone, which IEEE 754 rounds alike everywhere. Those of the C
// library differ between versions in the last bit, and a strategy's choice may hang on it. About 1e-14 relative error.
// The box is compiled with -ffp-contract=off for the same reason.

double portable_log(double x);   // natural logarithm; x > 0 and finite
double portable_exp(double x);   // 0 below -700, largest finite above 700
// Standard normal density and distribution (Zelen & Severo 1964, Abramowitz & Stegun 26.2.17, absolute error 7.5e-8).
double normal_density(double x);
double normal_distribution(double x);

}  // namespace tunebook
