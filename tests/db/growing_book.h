#pragma once

#include <filesystem>

#include "random_book.h"

namespace tunebook::testing {

// Adds to a book (made if missing) what tuners do in random order: sessions of a few kernels, devices, problems and environments, begun or
// taken up again, with trials of every kind, winners, baselines, profiles, ceilings; some are finished. Copies of a book that grow apart
// share some sessions and differ in others.
void grow_book(Dice& dice, const std::filesystem::path& path, int steps);

// The book and nothing beside it, as it is when nobody has it open.
void copy_book(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace tunebook::testing
