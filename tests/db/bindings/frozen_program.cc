// Compiled by a test together with headers that it has exported: answers the questions of a file, one line each.
// Usage: program QUESTIONS. A question: book, kernel, hash, objective, method, the device's ten fields, then name and value of each
// dimension, separated by tabs; values are i:NUMBER, b:0 or s:TEXT.
#include "book0.h"
#include "book1.h"
#include "book2.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == '\t') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

template <class Answer>
std::string describe(const Answer& answer) {
  char number[64];
  std::snprintf(number, sizeof number, "%a", answer.distance);
  std::string text = std::string(tier_name(answer.tier)) + " " + number + " " + std::string(answer.session);
  const auto add = [&text](const auto& list) {
    text += " |";
    for (const auto& one : list) {
      text += " " + std::string(one.name) + "=";
      text += one.value.text.empty() ? std::to_string(one.value.number) : std::string(one.value.text);
    }
  };
  add(answer.configuration);
  add(answer.problem);
  std::snprintf(number, sizeof number, " | %a", answer.median_us.value_or(-1));
  text += number;
  text += " " + std::to_string(static_cast<int>(answer.stale)) + " " + std::string(answer.device.name) + " " + std::string(answer.kernel_hash);
  text += " " + std::string(answer.objective) + " " + std::string(answer.method) + " " + std::string(answer.tuned_at_utc);
  text += " " + std::to_string(answer.registers_per_thread.value_or(-1)) + " " + std::to_string(answer.shared_bytes.value_or(-1));
  for (const auto& figure : {answer.expected_loss, answer.loss_bound, answer.predicted_us}) {
    std::snprintf(number, sizeof number, " %a", figure.value_or(-1));
    text += number;
  }
  return text;
}

template <class Query, class Value, class Best>
std::string ask(const std::vector<std::string>& fields, Best best) {
  Query query;
  query.kernel = fields[1];
  query.kernel_hash = fields[2];
  query.objective = fields[3];
  query.method = fields[4];
  query.device.kind = fields[5];
  query.device.name = fields[6];
  query.device.compute_capability = std::atoi(fields[7].c_str());
  query.device.instruction_set = fields[8];
  query.device.sm_count = std::atoll(fields[9].c_str());
  query.device.memory_gib = std::atoll(fields[10].c_str());
  query.device.host_compiler = fields[11];
  query.device.max_threads_per_block = std::atoll(fields[12].c_str());
  query.device.shared_bytes_per_block_optin = std::atoll(fields[13].c_str());
  query.device.registers_per_block = std::atoll(fields[14].c_str());
  for (std::size_t i = 15; i + 1 < fields.size(); i += 2) {
    const char kind = fields[i + 1][0];
    const std::string_view rest = std::string_view(fields[i + 1]).substr(2);
    const Value value = kind == 's' ? Value(rest) : kind == 'b' ? Value(rest == "1") : Value(std::atoll(rest.data()));
    query.problem.push_back({fields[i], value});
  }
  try {
    const auto answer = best(query);
    return answer ? describe(*answer) : "nothing";
  } catch (const std::invalid_argument&) {
    return "not understood";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream questions(argv[1]);
  for (std::string line; std::getline(questions, line);) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields[0] == "0") std::cout << ask<book0::Query, book0::Value>(fields, [](const auto& query) { return book0::best(query); }) << '\n';
    if (fields[0] == "1") std::cout << ask<book1::Query, book1::Value>(fields, [](const auto& query) { return book1::best(query, 0.75); }) << '\n';
    if (fields[0] == "2") std::cout << ask<app::book2::Query, app::book2::Value>(fields, [](const auto& query) { return app::book2::best(query); }) << '\n';
  }
}
