#include "sweep_fixture.h"

#include <fstream>
#include <iomanip>
#include <sstream>

#include <nlohmann/json.hpp>

#include "db/sqlite.h"
#include "support/synthetic_recording.h"

namespace tunebook::test {

void SweepCliTest::record(const std::string& gpu, int kernels, int shapes, std::uint64_t size) {
  for (int kernel = 0; kernel < kernels; ++kernel) {
    for (int shape = 0; shape < shapes; ++shape) {
      const std::filesystem::path file = recording(gpu, kernel, shape);
      write_synthetic_recording(file.parent_path(), file.stem().string(), static_cast<std::uint64_t>(1 + shape + 100 * kernel), size);
      auto json = nlohmann::ordered_json::parse(read_file(file));
      json["kernel"] = "k" + std::to_string(kernel);
      json["gpu"] = gpu;
      json["problem_size"] = {64 << shape, 32};
      std::ofstream(file) << json.dump(1) << '\n';
    }
  }
}

std::filesystem::path SweepCliTest::recording(const std::string& gpu, int kernel, int shape) const {
  return folder() / gpu / ("k" + std::to_string(kernel) + "_" + std::to_string(shape) + ".json");
}

void SweepCliTest::slow_down(const std::filesystem::path& recording, double factor) const {
  std::filesystem::path csv = recording;
  csv.replace_extension(".csv");
  std::istringstream lines(read_file(csv));
  std::ostringstream changed;
  std::string line;
  std::getline(lines, line);
  changed << line << '\n';
  // ...,time_ms,status,std_ms,cost_ms
  while (std::getline(lines, line)) {
    std::size_t end = line.size();
    for (int comma = 0; comma < 3; ++comma) end = line.rfind(',', end - 1);
    const std::size_t begin = line.rfind(',', end - 1) + 1;
    const std::string time = line.substr(begin, end - begin);
    if (!time.empty()) line.replace(begin, end - begin, std::to_string(factor * std::stod(time)));
    changed << line << '\n';
  }
  std::ofstream(csv) << changed.str();
  auto json = nlohmann::ordered_json::parse(read_file(recording));
  json["best_ms"] = factor * json["best_ms"].get<double>();
  std::ofstream(recording) << json.dump(1) << '\n';
}

std::filesystem::path SweepCliTest::plan(int kernels, const std::vector<std::string>& devices, const std::string& more) {
  nlohmann::ordered_json json;
  json["tunebook"] = 1;
  json["devices"] = devices;
  json["strategy"] = "auto";
  json["budget"] = 12;
  json["seed"] = 3;
  if (!more.empty()) json.update(nlohmann::ordered_json::parse(more));
  json["sessions"] = nlohmann::ordered_json::array();
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (int kernel = 0; kernel < kernels; ++kernel) names.push_back("k" + std::to_string(kernel));
  json["sessions"].push_back({{"kernels", names}});
  return write("night.json", json.dump(1));
}

SweepCliTest::Words SweepCliTest::sweep(const std::filesystem::path& plan, const Words& more) const {
  Words words = {"sweep", plan.string(), "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::map<std::string, std::string> SweepCliTest::fingerprint(const std::filesystem::path& book) {
  sqlite::Database database(book, sqlite::Database::Mode::read_only);
  std::map<std::string, std::string> sessions;
  sqlite::Statement select(database,
                           "SELECT session.id, kernel.name || ' ' || problem.json || ' ' || device.name || ' ' || strategy, finished_utc IS NOT NULL, "
                           "standing_winner FROM session JOIN kernel ON kernel.id = kernel_id JOIN problem ON problem.id = problem_id "
                           "JOIN device ON device.id = device_id ORDER BY session.id");
  sqlite::Statement::Run session = select.run();
  while (session.next()) {
    std::ostringstream text;
    text << (session.integer(2) != 0 ? "finished " : "unfinished ") << session.text(3) << '\n';
    sqlite::Statement trials(database,
                             "SELECT proposal || ' ' || origin || ' ' || configuration.json || ' ' || reused || ' ' || outcome || ' ' || "
                             "ifnull(median_us, '') || ' ' || hex(samples_us) FROM trial JOIN configuration ON configuration.id = configuration_id "
                             "WHERE session_id = ? ORDER BY proposal, trial.id");
    sqlite::Statement::Run trial = trials.run(session.integer(0));
    while (trial.next()) text << trial.text(0) << '\n';
    sqlite::Statement winners(database,
                              "SELECT configuration.json || ' ' || median_us FROM winner JOIN configuration ON configuration.id = configuration_id "
                              "WHERE session_id = ? ORDER BY winner.id");
    sqlite::Statement::Run winner = winners.run(session.integer(0));
    while (winner.next()) text << "winner " << winner.text(0) << '\n';
    // A second session of the same would be one too many.
    sessions[session.text(1)] += text.str();
  }
  return sessions;
}

std::int64_t SweepCliTest::count(const std::string& sql) const {
  sqlite::Database database(book(), sqlite::Database::Mode::read_only);
  return database.query_integer(sql.c_str());
}

}  // namespace tunebook::test
