#include "db/lookup_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "db/encoding.h"

namespace tunebook {
namespace {

// Reads a problem's canonical text without building a tree of it: sizes and categorical values by the declared order.
class ProblemReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  // False: it is no problem of this declaration.
  bool read(std::string_view text, const KernelSpec& spec) {
    spec_ = &spec;
    sizes_.assign(spec.dimensions.size(), 0);
    categories_.assign(spec.dimensions.size(), std::string());
    seen_ = 0;
    depth_ = 0;
    if (!nlohmann::json::sax_parse(text.begin(), text.end(), this) || seen_ != spec.dimensions.size()) {
      return false;
    }
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (!spec.dimensions[i].categorical && sizes_[i] == 0) {
        return false;  // another one was there twice
      }
    }
    return true;
  }
  std::int64_t size(std::size_t dimension) const { return sizes_[dimension]; }
  const std::string& category(std::size_t dimension) const { return categories_[dimension]; }

  bool key(std::string& name) override {
    for (at_ = 0; at_ < spec_->dimensions.size(); ++at_) {
      if (spec_->dimensions[at_].name == name) {
        ++seen_;
        return true;
      }
    }
    return false;
  }
  bool number_integer(std::int64_t) override { return false; }  // a negative size
  bool number_unsigned(std::uint64_t value) override {
    sizes_[at_] = static_cast<std::int64_t>(value);
    return depth_ == 1 && !spec_->dimensions[at_].categorical && value >= 1 && value <= static_cast<std::uint64_t>(kMaxDimension);
  }
  bool string(std::string& value) override {
    categories_[at_] = value;
    return depth_ == 1 && spec_->dimensions[at_].categorical;
  }
  bool start_object(std::size_t) override { return ++depth_ == 1; }
  bool end_object() override { return true; }
  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool number_float(double, const std::string&) override { return false; }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_array(std::size_t) override { return false; }
  bool end_array() override { return false; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  const KernelSpec* spec_ = nullptr;
  std::vector<std::int64_t> sizes_;
  std::vector<std::string> categories_;
  std::size_t seen_ = 0, at_ = 0;
  int depth_ = 0;
};

// The winner of a session and objective that was recorded last counts; winners of one session come one after the other, in the order of
// recording unless they were merged from several books.
constexpr const char* kColumns =
    "SELECT session.id, uid, finished_utc, method, problem.json, objective, configuration_id, median_us, ci_low_us, ci_high_us, "
    "registers, shared_bytes, recorded_utc FROM session ";
constexpr const char* kJoins =
    "CROSS JOIN winner ON winner.session_id = session.id CROSS JOIN problem ON problem.id = problem_id "
    "WHERE kernel_id = ?1 AND device_id = ?2 AND finished_utc IS NOT NULL ";
constexpr const char* kOrder = "ORDER BY session.id, winner.id";

}  // namespace

std::vector<KnownDevice> read_devices(sqlite::Database& book) {
  std::vector<KnownDevice> devices;
  sqlite::Statement select(book, "SELECT id, json FROM device ORDER BY id DESC");
  sqlite::Statement::Run row = select.run();
  while (row.next()) {
    try {
      devices.push_back({row.integer(0), Device::from_json(nlohmann::json::parse(row.text(1), nullptr, false))});
    } catch (const InputError&) {
      // Of a newer Tunebook, or damaged: the others can still answer.
    }
  }
  return devices;
}

class RowReader {
 public:
  RowReader(sqlite::Database& book, const std::vector<KernelVersion>& versions, const KnownDevice& device)
      : versions_(versions), find_configuration_(book, "SELECT json FROM configuration WHERE id = ?") {
    result_->device_ = device;
  }

  void add(const sqlite::Statement::Run& row, std::uint32_t version) {
    const std::int64_t session = row.integer(0);
    const std::uint32_t objective = intern(row.text_view(5));
    if (session == last_session_) {
      // A later choice of the same session replaces the one before.
      for (OfSession& known : of_session_) {
        if (result_->rows_[known.index].objective == objective) {
          if (row.text_view(12) >= known.recorded_utc) {
            fill(result_->rows_[known.index], row);
            known.recorded_utc = row.text_view(12);
          }
          return;
        }
      }
    } else {
      last_session_ = session;
      of_session_.clear();
    }
    DeviceRows::Row added;
    added.version = version;
    added.objective = objective;
    added.method = intern(row.text_view(3));
    added.session = keep(row.text_view(1));
    added.finished_utc = keep(row.text_view(2));
    added.problem = keep(row.text_view(4));
    fill(added, row);
    const auto index = static_cast<std::uint32_t>(result_->rows_.size());
    if (!place(added, index)) {
      return;  // a row that this program cannot read is no answer, but others may be
    }
    of_session_.push_back({index, row.text(12)});
    result_->rows_.push_back(added);
  }

  std::shared_ptr<const DeviceRows> finish() { return std::move(result_); }

 private:
  DeviceRows::Text keep(std::string_view text) {
    const DeviceRows::Text where{static_cast<std::uint32_t>(result_->texts_.size()), static_cast<std::uint32_t>(text.size())};
    if (text.size() > std::numeric_limits<std::uint32_t>::max() - where.at) {
      throw EnvironmentError("lookup: the winners of one kernel and device take more than 4 GiB; publish a smaller book");
    }
    result_->texts_ += text;
    return where;
  }

  std::uint32_t intern(std::string_view name) {
    for (std::size_t i = 0; i < result_->names_.size(); ++i) {
      if (result_->names_[i] == name) {
        return static_cast<std::uint32_t>(i);
      }
    }
    result_->names_.emplace_back(name);
    return static_cast<std::uint32_t>(result_->names_.size() - 1);
  }

  std::uint32_t configuration(std::int64_t row) {
    const auto [known, added] = configurations_.try_emplace(row, static_cast<std::uint32_t>(result_->configurations_.size()));
    if (added) {
      sqlite::Statement::Run found = find_configuration_.run(row);
      result_->configurations_.push_back(found.next() ? keep(found.text_view(0)) : DeviceRows::Text{});
    }
    return known->second;
  }

  void fill(DeviceRows::Row& target, const sqlite::Statement::Run& row) {
    target.configuration = configuration(row.integer(6));
    target.median_us = row.real(7);
    target.ci_low_us = row.real(8);
    target.ci_high_us = row.real(9);
    target.registers = row.optional_integer(10);
    target.shared_bytes = row.optional_integer(11);
  }

  // Puts the row into the group that it belongs to; false if its problem cannot be read.
  bool place(const DeviceRows::Row& row, std::uint32_t index) {
    const KernelSpec* const spec = versions_[row.version].spec.get();
    if (spec == nullptr) {
      result_->undeclared_.push_back(index);
      return true;
    }
    if (!problem_.read(result_->text(row.problem), *spec)) {
      return false;
    }
    DeviceRows::Group& group = group_of(row, *spec);
    std::size_t at = 0;
    for (std::size_t i = 0; i < spec->dimensions.size(); ++i) {
      if (!spec->dimensions[i].categorical) {
        group.sizes[at].push_back(problem_.size(i));
        group.log2_sizes[at++].push_back(std::log2(static_cast<double>(problem_.size(i))));
      }
    }
    group.rows.push_back(index);
    return true;
  }

  DeviceRows::Group& group_of(const DeviceRows::Row& row, const KernelSpec& spec) {
    key_.clear();
    for (const std::uint32_t part : {row.version, row.objective, row.method}) {
      key_.append(reinterpret_cast<const char*>(&part), sizeof part);
    }
    for (std::size_t i = 0; i < spec.dimensions.size(); ++i) {
      if (spec.dimensions[i].categorical) {
        const std::string& category = problem_.category(i);
        key_.append(std::to_string(category.size())).append(":").append(category);
      }
    }
    const auto [known, added] = group_ids_.try_emplace(key_, result_->groups_.size());
    if (added) {
      DeviceRows::Group& group = result_->groups_.emplace_back();
      group.version = row.version;
      group.objective = row.objective;
      group.method = row.method;
      for (std::size_t i = 0; i < spec.dimensions.size(); ++i) {
        if (spec.dimensions[i].categorical) {
          group.categories.push_back(problem_.category(i));
        }
      }
      group.sizes.resize(spec.dimensions.size() - group.categories.size());
      group.log2_sizes.resize(group.sizes.size());
    }
    return result_->groups_[known->second];
  }

  std::shared_ptr<DeviceRows> result_ = std::make_shared<DeviceRows>();
  const std::vector<KernelVersion>& versions_;
  sqlite::Statement find_configuration_;
  std::unordered_map<std::int64_t, std::uint32_t> configurations_;
  std::unordered_map<std::string, std::size_t> group_ids_;
  std::string key_;
  ProblemReader problem_;
  std::int64_t last_session_ = -1;
  struct OfSession {
    std::uint32_t index;
    std::string recorded_utc;
  };
  std::vector<OfSession> of_session_;  // rows of the session that was read last
};

std::shared_ptr<const DeviceRows> DeviceRows::read(sqlite::Database& book, const std::vector<KernelVersion>& versions, const Filter& filter) {
  RowReader reader(book, versions, *filter.device);
  std::string sql = std::string(kColumns) + kJoins;
  if (filter.problems != nullptr) {
    sql += "AND problem_id = (SELECT id FROM problem WHERE hash = ?3) ";
  }
  sqlite::Statement select(book, sql + kOrder);
  for (std::uint32_t version = 0; version < versions.size(); ++version) {
    if (versions[version].row < 0) {
      continue;
    }
    const auto add_all = [&](sqlite::Statement::Run&& row) {
      while (row.next()) {
        reader.add(row, version);
      }
    };
    if (filter.problems == nullptr) {
      add_all(select.run(versions[version].row, filter.device->row));
    } else if (const std::optional<Problem>& problem = (*filter.problems)[version].problem) {
      const Hash hash = to_hash(content_hash(problem->canonical()));
      add_all(select.run(versions[version].row, filter.device->row, as_blob(hash)));
    }
  }
  return reader.finish();
}

}  // namespace tunebook
