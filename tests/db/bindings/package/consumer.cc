#include <tunebook/lookup.h>

#include <iostream>
#include <stdexcept>

int main(int, char** argv) {
  const tunebook::Lookup book(argv[1]);
  tunebook::Query query;
  query.kernel = "vector_add";
  query.problem = {{"n", 4096}};
  query.device.kind = "cpu";
  const auto answer = book.best(query);
  if (!answer) return 1;
  std::cout << tunebook::tier_name(answer->tier) << '\n';
  try {  // an exception of the library is the application's own type
    const tunebook::Lookup missing("/nonexistent/book.db");
    return 2;
  } catch (const std::runtime_error&) {
    return 0;
  }
}
