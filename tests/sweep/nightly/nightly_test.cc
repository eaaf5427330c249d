// What is installed for nightly sweeps is what systemd and cron accept. In the build tree the files name the program of the build.

#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cli_support.h"

namespace tunebook::test {
namespace {

const std::filesystem::path kNightly = TUNEBOOK_NIGHTLY_DIR;
const std::string kUnit = "tunebook-sweep.service", kTimer = "tunebook-sweep.timer";

struct Said {
  int exit_code = -1;
  std::string text;  // stdout and stderr together
};

Said say(const std::string& shell_command) {
  Said said;
  FILE* const pipe = popen((shell_command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return said;
  char buffer[512];
  for (std::size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) said.text.append(buffer, got);
  const int status = pclose(pipe);
  said.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return said;
}

class Nightly : public CliTest {
 protected:
  // Also unknown settings, which it only warns of.
  Said verify(const std::vector<std::filesystem::path>& units) const {
    std::string command = "systemd-analyze verify --man=no";
    for (const auto& unit : units) command += " '" + unit.string() + "'";
    return say(command);
  }
  // A copy of the service in which `from` is `to`.
  std::filesystem::path changed_unit(const std::string& from, const std::string& to) {
    std::string text = read_file(kNightly / kUnit);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return write(kUnit, text.replace(at, from.size(), to));
  }
};

#define SKIP_WITHOUT_SYSTEMD()                                                                              \
  if (const Said version = say("systemd-analyze --version"); version.exit_code != 0) {                      \
    GTEST_SKIP() << "systemd-analyze is not here: " << version.text;                                        \
  }

TEST_F(Nightly, SystemdAcceptsTheServiceAndTheTimer) {
  SKIP_WITHOUT_SYSTEMD();
  const Said said = verify({kNightly / kUnit, kNightly / kTimer});
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_EQ(said.text, "");
}

TEST_F(Nightly, TheCheckNoticesMistakes) {
  SKIP_WITHOUT_SYSTEMD();
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"ProtectSystem=", "ProtectSytem="}, {"ExecStart=/", "ExecStart=/none/"}, {"Type=oneshot", "Type=once"}}) {
    const Said said = verify({changed_unit(from, to)});
    EXPECT_TRUE(said.exit_code != 0 || !said.text.empty()) << to;
  }
}

TEST_F(Nightly, TheTimerStartsWhatTheServiceAllows) {
  SKIP_WITHOUT_SYSTEMD();
  const std::string service = read_file(kNightly / kUnit), timer = read_file(kNightly / kTimer);
  std::smatch found;
  ASSERT_TRUE(std::regex_search(timer, found, std::regex("\nOnCalendar=(.*)\n")));
  const Said calendar = say("systemd-analyze calendar '" + found[1].str() + "'");
  EXPECT_EQ(calendar.exit_code, 0) << calendar.text;
  // The condition as the shell runs it, at each hour of a day.
  ASSERT_TRUE(std::regex_search(service, found, std::regex("\nExecCondition=/bin/sh -c '([^'\n]*)'\n")));
  const std::string condition = std::regex_replace(found[1].str(), std::regex("\\$\\(date \\+%%H\\)"), "$$1");
  ASSERT_NE(condition, found[1].str());
  for (int hour = 0; hour < 24; ++hour) {
    const std::string two_digits = (hour < 10 ? "0" : "") + std::to_string(hour);
    EXPECT_EQ(say("/bin/sh -c '" + condition + "' sh " + two_digits).exit_code == 0, hour >= 22 || hour < 6) << two_digits;
  }
}

// Five fields of time or a word, then a command; % would end it.
TEST_F(Nightly, CronUnderstandsTheLines) {
  std::istringstream lines(read_file(kNightly / "crontab.example"));
  const std::regex entry(R"re((@reboot|[0-9*/,-]+( +[0-9*/,-]+){4}) +(\S.*))re");
  int entries = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(line, parts, entry)) << line;
    std::string command = parts[3];
    EXPECT_FALSE(std::regex_search(command, std::regex(R"((^|[^\\])%)"))) << "an unescaped %: " << line;
    command = std::regex_replace(command, std::regex(R"(\\%)"), "%");
    ::setenv("COMMAND", command.c_str(), 1);
    const Said syntax = say("/bin/sh -n -c \"$COMMAND\"");
    EXPECT_EQ(syntax.exit_code, 0) << syntax.text;
    EXPECT_NE(command.find(std::string(TUNEBOOK_BIN_DIR) + "/tunebook sweep "), std::string::npos) << line;
    ++entries;
  }
  ::unsetenv("COMMAND");
  EXPECT_EQ(entries, 2);
}

}  // namespace
}  // namespace tunebook::test
