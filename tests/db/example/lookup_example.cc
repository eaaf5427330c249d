// Usage: lookup_example BOOK KERNEL M N K
#include <tunebook/lookup.h>

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const tunebook::Lookup book(argv[1]);
  tunebook::Query query;
  query.kernel = argv[2];
  query.problem = {{"m", std::atoll(argv[3])}, {"n", std::atoll(argv[4])}, {"k", std::atoll(argv[5])}};
  query.device.compute_capability = 90;
  const auto answer = book.best(query);
  if (!answer) return 3;
  std::cout << tunebook::tier_name(answer->tier);
  for (const auto& [name, value] : answer->configuration)
    std::visit([&name = name](const auto& v) { std::cout << ' ' << name << '=' << std::boolalpha << v; }, value);
  std::cout << '\n';
}
