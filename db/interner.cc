#include "db/interner.h"

#include <nlohmann/json.hpp>

namespace tunebook {
namespace {

HashBuilder context_builder(const TrialContext& context) {
  HashBuilder builder;
  builder.add(context.kernel).add(context.kernel_hash).add(context.device.key()).add(context.toolchain).add(context.method);
  return builder;
}

std::int64_t id_of(sqlite::Statement::Run&& row) { return row.next() ? row.integer(0) : -1; }

}  // namespace

Hash context_hash(const TrialContext& context) { return to_hash(context_builder(context).hex()); }

Hash trial_key(const TrialContext& context, const Problem& problem, const Configuration& configuration) {
  return to_hash(context_builder(context).add(problem.canonical()).add(configuration.canonical()).hex());
}

Hash session_identity(const TrialContext& context, const std::string& identity_text) {
  return to_hash(context_builder(context).add(identity_text).hex());
}

Interner::Interner(sqlite::Database& database)
    : find_device_(database, "SELECT id FROM device WHERE key = ?"),
      insert_device_(database,
                     "INSERT INTO device (key, kind, name, compute_capability, instruction_set, sm_count, memory_gib, "
                     "host_compiler, json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id"),
      find_environment_(database, "SELECT id FROM environment WHERE hash = ?"),
      insert_environment_(database, "INSERT INTO environment (hash, json) VALUES (?, ?) RETURNING id"),
      find_kernel_(database, "SELECT id FROM kernel WHERE name = ? AND hash = ?"),
      insert_kernel_(database, "INSERT INTO kernel (name, hash, spec) VALUES (?, ?, ?) RETURNING id"),
      find_problem_(database, "SELECT id FROM problem WHERE hash = ?"),
      insert_problem_(database, "INSERT INTO problem (hash, json) VALUES (?, ?) RETURNING id"),
      find_configuration_(database, "SELECT id FROM configuration WHERE hash = ?"),
      insert_configuration_(database, "INSERT INTO configuration (hash, json) VALUES (?, ?) RETURNING id") {}

std::int64_t Interner::intern(Ids& ids, sqlite::Statement& find, sqlite::Statement& insert, std::string_view text) {
  const Hash hash = to_hash(content_hash(text));
  if (const auto known = ids.find(hash); known != ids.end()) {
    return known->second;
  }
  std::int64_t id = id_of(find.run(as_blob(hash)));
  if (id < 0) {
    id = id_of(insert.run(as_blob(hash), text));
  }
  ids.emplace(hash, id);
  return id;
}

std::int64_t Interner::device(const Device& device) {
  const std::string key = device.key();
  const Hash hash = to_hash(content_hash(key));
  if (const auto known = devices_.find(hash); known != devices_.end()) {
    return known->second;
  }
  std::int64_t id = id_of(find_device_.run(key));
  if (id < 0) {
    id = id_of(insert_device_.run(key, device.kind, device.name, device.compute_capability, device.instruction_set,
                                  device.sm_count, device.memory_gib, device.host_compiler, to_book_text(device.to_json())));
  }
  devices_.emplace(hash, id);
  return id;
}

std::int64_t Interner::environment(const nlohmann::json& environment) {
  return intern(environments_, find_environment_, insert_environment_, to_book_text(environment));
}

std::int64_t Interner::kernel(const TrialContext& context) {
  const Hash hash = to_hash(HashBuilder().add(context.kernel).add(context.kernel_hash).hex());
  if (const auto known = kernels_.find(hash); known != kernels_.end()) {
    return known->second;
  }
  std::int64_t id = id_of(find_kernel_.run(context.kernel, context.kernel_hash));
  if (id < 0) {
    id = id_of(insert_kernel_.run(context.kernel, context.kernel_hash, to_book_text(context.kernel_spec)));
  }
  kernels_.emplace(hash, id);
  return id;
}

std::int64_t Interner::problem(const Problem& problem) {
  return intern(problems_, find_problem_, insert_problem_, problem.canonical());
}

std::int64_t Interner::configuration(const Configuration& configuration) {
  return intern(configurations_, find_configuration_, insert_configuration_, configuration.canonical());
}

void Interner::forget() {
  for (Ids* ids : {&devices_, &environments_, &kernels_, &problems_, &configurations_}) {
    ids->clear();
  }
}

}  // namespace tunebook
