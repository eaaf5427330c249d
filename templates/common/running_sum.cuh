// A sum in f32 that forgets nothing: what each addition rounds away is added with the next one (Kahan 1965).
//
// Plainly summed in one thread, a long row of numbers of very different sizes loses the small ones once the sum is large. The sum here
// is as good as rounded twice, however many numbers were added.
#pragma once

struct running_sum {
  float sum = 0.0f;
  float excess = 0.0f;  // by which `sum` is too large

  __device__ __forceinline__ void add(float x) {
    const float corrected = x - excess;
    const float next = sum + corrected;
    excess = (next - sum) - corrected;
    sum = next;
  }
  __device__ __forceinline__ void scale(float factor) {
    sum *= factor;
    excess *= factor;
  }
};
