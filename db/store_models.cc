#include "db/store_models.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "db/book_reader.h"
#include "db/encoding.h"
#include "db/schema.h"
#include "db/store_impl.h"

namespace tunebook {

void delete_model(sqlite::Database& database, const ModelRecord& model) {
  sqlite::Statement(
      database,
      "DELETE FROM model WHERE kernel_id = ? AND device_id = ? AND dtype = ? AND method = ?")
      .execute(model.kernel, model.device, model.dtype, model.method);
}

void write_model(sqlite::Database& database, const ModelRecord& model) {
  {
    sqlite::Statement known(database,
                            "SELECT EXISTS (SELECT 1 FROM kernel WHERE id = ?) AND EXISTS (SELECT "
                            "1 FROM device WHERE id = ?)");
    sqlite::Statement::Run row = known.run(model.kernel, model.device);
    if (!row.next() || row.integer(0) == 0) {
      throw InputError(
          fmt::format("book {}: it has no kernel {} or no device {}, which a model was learned "
                      "for; learn from this book",
                      database.name(), model.kernel, model.device));
    }
  }
  // Deleted and added, not updated: a larger id tells readers that there is a new one.
  delete_model(database, model);
  const Hash hash = to_hash(content_hash(model.body));
  sqlite::Statement(database,
                    "INSERT INTO model (kernel_id, device_id, dtype, method, format, content_hash, "
                    "body, trials, problems, learned_from, "
                    "learned_utc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .execute(model.kernel, model.device, model.dtype, model.method, model.format, as_blob(hash),
               sqlite::Blob{model.body}, model.trials, model.problems, model.learned_from,
               model.learned_utc);
}

std::vector<ModelRecord> read_models(sqlite::Database& database, const char* select_models) {
  sqlite::Statement select(database, select_models);
  std::vector<ModelRecord> models;
  sqlite::Statement::Run row = select.run();
  while (row.next()) {
    ModelRecord model{row.integer(0), row.integer(1), row.text(2),    row.text(3), row.integer(4),
                      row.text(5),    row.integer(6), row.integer(7), row.text(8), row.text(9)};
    const Hash hash = to_hash(content_hash(model.body));
    if (row.text_view(10) == as_blob(hash).bytes) models.push_back(std::move(model));
  }
  return models;
}

void Store::replace_models(const std::vector<ModelRecord>& learned,
                           const std::vector<ModelRecord>& outdated) {
  impl_->write([&] {
    for (const ModelRecord& model : outdated) delete_model(impl_->database, model);
    for (const ModelRecord& model : learned) write_model(impl_->database, model);
    return 0;
  });
}

std::vector<ModelRecord> Store::models() const {
  return impl_->read([&] { return read_models(impl_->database); });
}

std::vector<ModelRecord> Store::models_in_file(const std::filesystem::path& path) {
  BookReader reader(path);
  if (reader.version() < kModelVersion) return {};
  return reader.read([](sqlite::Database& book) { return read_models(book); });
}

}  // namespace tunebook
