template <typename T>
__global__ void smooth_reference(T* y, double* sum, const T* x, T*, double*, unsigned*, long long n, long long steps, long long, long long, long long) {
  for (long long i = 0; i < n; ++i) y[i] = x[i];
  for (long long step = 0; step < steps; ++step) {
    double left = 0;
    for (long long i = 0; i < n; ++i) {
      const double own = y[i];
      const double right = i + 1 < n ? static_cast<double>(y[i + 1]) : 0.0;
      y[i] = static_cast<T>((left + own + right) / 3);
      left = own;
    }
  }
  *sum = 0;
  for (long long i = 0; i < n; ++i) *sum += y[i];
}
