#include "book_content.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "db/sqlite.h"

namespace tunebook::testing {
namespace {

using sqlite::Database;
using sqlite::Statement;

// Every column of `table` but those left out, as one SQL expression: a column added to the schema is compared, too.
std::string all_columns(Database& book, const std::string& table, const std::vector<std::string>& left_out) {
  std::string sql = "''";
  Statement columns(book, "SELECT name FROM pragma_table_info(?) ORDER BY name");
  Statement::Run row = columns.run(table);
  while (row.next()) {
    if (row.text(0) != "id" && std::find(left_out.begin(), left_out.end(), row.text(0)) == left_out.end()) {
      sql += fmt::format(" || '{0}=' || quote({1}.{0}) || ' '", row.text(0), table);
    }
  }
  return sql;
}

std::string trial_text(Database& book) {
  return all_columns(book, "trial", {"session_id", "configuration_id", "environment_id"}) +
         " || (SELECT uid FROM session WHERE id = trial.session_id) || (SELECT json FROM configuration WHERE id = trial.configuration_id) "
         "|| (SELECT json FROM environment WHERE id = trial.environment_id)";
}

std::string finalists_text(Database& book) {
  return fmt::format("coalesce((SELECT group_concat(line, ';') FROM (SELECT {} || (SELECT json FROM configuration WHERE id = "
                     "finalist.configuration_id) AS line FROM finalist WHERE winner_id = winner.id ORDER BY place)), '')",
                     all_columns(book, "finalist", {"winner_id", "configuration_id"}));
}

void read_rows(Database& book, const std::string& table, const std::string& text, BookContent& content) {
  Statement select(book, fmt::format("SELECT {} FROM {}", text, table));
  Statement::Run row = select.run();
  while (row.next()) {
    content.rows[table].insert(row.text(0));
  }
}

void read_texts(Database& book, const std::string& table, const std::string& key, const std::string& text, BookContent& content) {
  Statement select(book, fmt::format("SELECT {}, {} FROM {}", key, text, table));
  Statement::Run row = select.run();
  while (row.next()) {
    content.texts.emplace(table + " " + row.text(0), row.text(1));
  }
}

template <class Map>
void describe_difference(const Map& a, const Map& b, std::string_view name, std::string& text) {
  for (const auto& [key, value] : a) {
    const auto other = b.find(key);
    if (other == b.end() || !(other->second == value)) {
      text += fmt::format("{} {} {}\n", name, key, other == b.end() ? "is missing" : "differs");
    }
  }
}

}  // namespace

BookContent read_content(const std::filesystem::path& path) {
  Database book(path, Database::Mode::read_only);
  BookContent content;
  const std::string of_session = " || (SELECT uid FROM session WHERE id = session_id)";
  read_rows(book, "trial", trial_text(book), content);
  read_rows(book, "winner",
            all_columns(book, "winner", {"session_id", "configuration_id", "trial_id"}) + of_session +
                " || (SELECT json FROM configuration WHERE id = configuration_id) || coalesce((SELECT " + trial_text(book) +
                " FROM trial WHERE id = trial_id), '') || " + finalists_text(book),
            content);
  read_rows(book, "baseline", all_columns(book, "baseline", {"session_id"}) + of_session, content);
  read_rows(book, "profile", all_columns(book, "profile", {"trial_id"}) + " || (SELECT " + trial_text(book) + " FROM trial WHERE id = trial_id)",
            content);
  read_rows(book, "ceiling",
            all_columns(book, "ceiling", {"device_id", "environment_id"}) +
                " || (SELECT key FROM device WHERE id = device_id) || (SELECT json FROM environment WHERE id = environment_id)",
            content);
  for (const char* const table : {"environment", "problem", "configuration"}) {
    read_texts(book, table, "hex(hash)", "json", content);
  }
  read_texts(book, "device", all_columns(book, "device", {"json"}), "json", content);
  read_texts(book, "kernel", "name || ' ' || hash", "spec", content);
  Statement sessions(book,
                     "SELECT uid, coalesce(finished_utc, ''), wall_seconds, " +
                         all_columns(book, "session", {"kernel_id", "device_id", "problem_id", "environment_id", "finished_utc", "wall_seconds"}) +
                         " || (SELECT name || hash FROM kernel WHERE id = kernel_id) || (SELECT key FROM device WHERE id = device_id) "
                         "|| (SELECT json FROM problem WHERE id = problem_id) || (SELECT json FROM environment WHERE id = environment_id) "
                         "FROM session");
  Statement::Run session = sessions.run();
  while (session.next()) {
    content.sessions[session.text(0)] = {session.text(3), session.text(1), session.real(2)};
  }
  Statement requirements(book,
                         "SELECT kernel.name || ' ' || kernel.hash || ' ' || configuration.json || device.key, registers, shared_bytes FROM "
                         "requirement JOIN kernel ON kernel.id = kernel_id JOIN configuration ON configuration.id = configuration_id JOIN device "
                         "ON device.id = device_id");
  Statement::Run requirement = requirements.run();
  while (requirement.next()) {
    content.requirements[requirement.text(0)] = {requirement.optional_integer(1), requirement.optional_integer(2)};
  }
  return content;
}

BookContent union_of(const BookContent& a, const BookContent& b) {
  BookContent both = a;
  for (const auto& [uid, session] : b.sessions) {
    const auto [known, added] = both.sessions.emplace(uid, session);
    if (!added) {
      known->second.finished = std::max(known->second.finished, session.finished);
      known->second.wall_seconds = std::max(known->second.wall_seconds, session.wall_seconds);
    }
  }
  for (const auto& [table, rows] : b.rows) {
    std::multiset<std::string>& known = both.rows[table];
    for (auto row = rows.begin(); row != rows.end(); row = rows.upper_bound(*row)) {
      while (known.count(*row) < rows.count(*row)) {
        known.insert(*row);
      }
    }
  }
  for (const auto& [key, text] : b.texts) {
    std::string& known = both.texts[key];
    known = std::max(std::pair(known.size(), known), std::pair(text.size(), text)).second;
  }
  for (const auto& [key, needs] : b.requirements) {
    BookContent::Needs& known = both.requirements[key];
    known = {std::max(known.first, needs.first), std::max(known.second, needs.second)};  // nothing is less than any number
  }
  return both;
}

std::string difference(const BookContent& a, const BookContent& b) {
  constexpr std::size_t kMostText = 2000;
  std::string text;
  describe_difference(a.sessions, b.sessions, "session", text);
  describe_difference(b.sessions, a.sessions, "session", text);
  describe_difference(a.texts, b.texts, "text", text);
  describe_difference(b.texts, a.texts, "text", text);
  describe_difference(a.requirements, b.requirements, "requirement", text);
  describe_difference(b.requirements, a.requirements, "requirement", text);
  const auto compare_rows = [&](const BookContent& one, const BookContent& other, const char* what) {
    for (const auto& [table, rows] : one.rows) {
      const auto found = other.rows.find(table);
      for (auto row = rows.begin(); row != rows.end(); row = rows.upper_bound(*row)) {
        const std::size_t there = found == other.rows.end() ? 0 : found->second.count(*row);
        if (there < rows.count(*row)) {
          text += fmt::format("{}: {} times instead of {} in the {}: {}\n", table, there, rows.count(*row), what, *row);
        }
      }
    }
  };
  compare_rows(a, b, "second");
  compare_rows(b, a, "first");
  return text.substr(0, kMostText);
}

}  // namespace tunebook::testing
