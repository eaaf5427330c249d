#include "db/model_check.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "db/book_reader.h"
#include "db/lookup_kernel.h"
#include "db/lookup_predicted.h"
#include "db/lookup_rows.h"
#include "db/schema.h"

namespace tunebook {
namespace {

struct Row {
  std::int64_t id = 0;
  std::string kernel, device, dtype, method;
  std::string text() const {
    return fmt::format("{}{}{} on {}, {}", kernel, dtype.empty() ? "" : " ", dtype, device, method);
  }
};

std::vector<Row> all_rows(sqlite::Database& book) {
  std::vector<Row> rows;
  sqlite::Statement select(book,
                           "SELECT model.id, kernel.name, device.name, dtype, method FROM model "
                           "LEFT JOIN kernel ON kernel.id = kernel_id LEFT JOIN device ON device.id = device_id ORDER BY model.id");
  sqlite::Statement::Run row = select.run();
  while (row.next()) {
    rows.push_back({row.integer(0), row.text(1), row.text(2), row.text(3), row.text(4)});
  }
  return rows;
}

// The fault of each row that lookups come across; "" where it is sound.
std::map<std::int64_t, std::string> faults(sqlite::Database& book, std::int64_t book_version, const std::vector<Row>& rows) {
  std::set<std::string> kernels, dtypes;
  for (const Row& row : rows) {
    kernels.insert(row.kernel);
    dtypes.insert(row.dtype);
  }
  std::map<std::int64_t, std::string> found;
  SpecCache specs;
  const std::vector<KnownDevice> devices = read_devices(book);
  for (const std::string& kernel : kernels) {
    const std::vector<KernelVersion> versions = kernel_versions(book, book_version, specs, kernel, {});
    for (const KnownDevice& device : devices) {
      for (const std::string& dtype : dtypes) {
        const std::shared_ptr<const DeviceModels> models = read_models(book, book_version, versions, device, dtype);
        for (const BookModel& model : *models) {
          found.emplace(model.row, model.damage);
        }
      }
    }
  }
  return found;
}

}  // namespace

std::vector<ModelCheck> check_models(const std::filesystem::path& book) {
  BookReader reader(book);
  if (reader.version() < kModelVersion) {
    return {};
  }
  return reader.read([&](sqlite::Database& database) {
    const std::vector<Row> rows = all_rows(database);
    const std::map<std::int64_t, std::string> known = faults(database, reader.version(), rows);
    std::vector<ModelCheck> checks;
    for (const Row& row : rows) {
      const auto found = known.find(row.id);
      checks.push_back({row.text(), found != known.end()
                                        ? found->second
                                        : fmt::format("model {}: its device cannot be read here; learn it again: tunebook learn",
                                                      row.id)});
    }
    return checks;
  });
}

}  // namespace tunebook
