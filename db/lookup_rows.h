#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.h"
#include "core/problem.h"
#include "db/lookup_kernel.h"
#include "db/sqlite.h"

namespace tunebook {

// A device of the book.
struct KnownDevice {
  std::int64_t row = -1;
  Device device;
};
// The newest first; those that this program cannot read are left out.
std::vector<KnownDevice> read_devices(sqlite::Database& book);

// The winners of one kernel on one device, as they were in the book at one moment. Immutable: shared between threads.
//
// Texts lie one after the other in one string: a book with 10,000 winners of a kernel is read in milliseconds that way.
class DeviceRows {
 public:
  struct Text {
    std::uint32_t at = 0, size = 0;
  };
  struct Row {
    std::uint32_t version = 0;        // index into the kernel's versions
    std::uint32_t objective = 0, method = 0;  // indices into names()
    std::uint32_t configuration = 0;  // index of a text
    Text session, finished_utc, problem;  // canonical JSON
    double median_us = 0, ci_low_us = 0, ci_high_us = 0;
    std::optional<std::int64_t> registers, shared_bytes;
  };
  // Rows whose problems differ in their sizes only: those that distances are measured between.
  struct Group {
    std::uint32_t version = 0, objective = 0, method = 0;
    std::vector<std::string> categories;             // values of the categorical dimensions, in declared order
    std::vector<std::vector<std::int64_t>> sizes;    // one list per size dimension, in declared order; an entry per row
    std::vector<std::vector<double>> log2_sizes;
    std::vector<std::uint32_t> rows;
  };

  // Which winners are read.
  struct Filter {
    const KnownDevice* device = nullptr;
    // One per version: only winners of this problem are read, none where it is null. Null: all winners.
    const std::vector<KernelFit>* problems = nullptr;
  };
  static std::shared_ptr<const DeviceRows> read(sqlite::Database& book, const std::vector<KernelVersion>& versions, const Filter& filter);

  const KnownDevice& device() const { return device_; }
  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<Group>& groups() const { return groups_; }
  // Rows of versions whose declaration this program cannot read: they answer their own problem only.
  const std::vector<std::uint32_t>& undeclared() const { return undeclared_; }
  std::string_view text(Text where) const { return std::string_view(texts_).substr(where.at, where.size); }
  const std::string& name(std::uint32_t index) const { return names_[index]; }
  std::string_view configuration(const Row& row) const { return text(configurations_[row.configuration]); }

 private:
  friend class RowReader;
  KnownDevice device_;
  std::string texts_;
  std::vector<std::string> names_;
  std::vector<Text> configurations_;
  std::vector<Row> rows_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> undeclared_;
};

}  // namespace tunebook
