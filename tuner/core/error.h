#pragma once

#include <stdexcept>
#include <string>

namespace tunebook {

// Bad input from the user: a file, an option, a shape, an expression. `main` prints it and exits with 2.
// The message says what was wrong, where (file, JSON path, column), and what to do.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A broken environment (worker cannot start, disk full, book locked for too long). `main` prints it and exits with 1.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tunebook
