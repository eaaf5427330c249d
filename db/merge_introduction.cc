#include "db/merge_introduction.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace tunebook {
namespace {

// A row that outlives the statement that read it.
struct KeptRow {
  std::string first_seen_utc;
  std::vector<std::variant<std::monostate, std::int64_t, double, std::string>> values;
  auto operator<=>(const KeptRow&) const = default;
};

KeptRow keep(std::string first_seen_utc, const std::vector<sqlite::Cell>& cells) {
  KeptRow kept{std::move(first_seen_utc), {}};
  for (const sqlite::Cell& cell : cells) {
    auto& value = kept.values.emplace_back();
    if (const auto* const integer = std::get_if<std::int64_t>(&cell)) {
      value = *integer;
    } else if (const auto* const real = std::get_if<double>(&cell)) {
      value = *real;
    } else if (const auto* const text = std::get_if<std::string_view>(&cell)) {
      value = std::string(*text);
    }
  }
  return kept;
}

}  // namespace

void check_described(const std::string& book, const MergeTable& table, const std::string& name, const std::vector<sqlite::Cell>& cells) {
  const auto object = [&](const char* column) {
    const auto* const text = std::get_if<std::string_view>(&cells[table.column(column)]);
    nlohmann::json json = text == nullptr ? nlohmann::json() : nlohmann::json::parse(*text, nullptr, false);
    if (!json.is_object()) {
      throw InputError(fmt::format("book {0}: it is damaged: {2} of a row of {1} is no JSON object; `tunebook doctor --book {0}` tells more", book, name,
                                   column));
    }
    return json;
  };
  if (name == "kernel") {
    object("spec");
  }
  if (name == "device") {
    const nlohmann::json key = object("key"), json = object("json");
    for (const auto& [part, value] : key.items()) {
      const auto found = json.find(part);
      if (found != json.end() && *found != value) {
        throw InputError(fmt::format("book {0}: it is damaged: a row of device has another {1} than its key says; `tunebook doctor --book {0}` tells more",
                                     book, part));
      }
    }
  }
}

std::vector<std::int64_t> introduce(const std::string& name, std::vector<MergeSource>& sources, sqlite::Database& target) {
  const MergeTable table(target, name, {});  // they refer to nothing
  std::vector<KeptRow> rows;
  for (MergeSource& source : sources) {
    const std::vector<KeptRow> of_source = source.read([&](sqlite::Database& book) {
      std::vector<KeptRow> found;
      sqlite::Statement first_seen(book, fmt::format("SELECT min(started_utc) FROM session WHERE {}_id = ?", name));
      sqlite::Statement select(book, table.select());
      sqlite::Statement::Run row = select.run();
      while (row.next()) {
        sqlite::Statement::Run first = first_seen.run(row.integer(0));
        first.next();
        // '~' comes after every time: what has no session yet was seen last.
        const std::vector<sqlite::Cell> cells = table.cells(row, 1);
        check_described(source.path().string(), table, name, cells);
        found.push_back(keep(first.is_null(0) ? "~" : first.text(0), cells));
      }
      return found;
    });
    source.close();
    rows.insert(rows.end(), of_source.begin(), of_source.end());
  }
  std::sort(rows.begin(), rows.end());
  return sqlite::in_transaction(target, sqlite::Transaction::Kind::write, [&] {
    std::vector<std::int64_t> added;
    sqlite::Statement insert(target, table.insert() + " ON CONFLICT DO NOTHING");
    for (const KeptRow& row : rows) {
      std::vector<sqlite::Cell> cells;
      for (const auto& value : row.values) {
        cells.push_back(std::visit([](const auto& held) -> sqlite::Cell { return held; }, value));
      }
      insert.run_cells(cells).next();
      if (target.changed_rows() > 0) {
        added.push_back(target.last_insert_id());
      }
    }
    return added;
  });
}

void withdraw(sqlite::Database& target, const std::vector<std::int64_t>& kernels, const std::vector<std::int64_t>& devices) {
  sqlite::in_transaction(target, sqlite::Transaction::Kind::write, [&] {
    sqlite::Statement requirement(target, "DELETE FROM requirement WHERE kernel_id = ?1 AND NOT EXISTS (SELECT 1 FROM session WHERE kernel_id = ?1)");
    sqlite::Statement kernel(target, "DELETE FROM kernel WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM session WHERE kernel_id = ?1)");
    sqlite::Statement device(target,
                             "DELETE FROM device WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM session WHERE device_id = ?1) "
                             "AND NOT EXISTS (SELECT 1 FROM requirement WHERE device_id = ?1) AND NOT EXISTS (SELECT 1 FROM ceiling WHERE device_id = ?1)");
    for (const std::int64_t id : kernels) {
      requirement.execute(id);
      kernel.execute(id);
    }
    for (const std::int64_t id : devices) {
      device.execute(id);
    }
    return 0;
  });
}

}  // namespace tunebook
