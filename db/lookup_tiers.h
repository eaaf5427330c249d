#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/device.h"
#include "db/lookup_kernel.h"
#include "db/lookup_predicted.h"
#include "db/lookup_rows.h"
#include "tunebook/lookup.h"

namespace tunebook {

// One question, worked out as far as all tiers need it.
struct Question {
  const Query* query = nullptr;
  const std::vector<KernelVersion>* versions = nullptr;
  std::vector<KernelFit> fits;               // one per version
  std::vector<const KnownDevice*> same;      // the book's devices that the query's key agrees with, the newest first
  std::vector<const KnownDevice*> related;   // others of its architecture
  Device device;                             // the asked one, where it is none of `same`
  bool limits_known = false;                 // of `device`: from the book, or from the table
  double near_cap = kNearCap;
};

// Throws std::invalid_argument if no version of the kernel understands the problem. The arguments must outlive the question.
Question make_question(const Query& query, const std::vector<KernelVersion>& versions, const std::vector<KnownDevice>& devices,
                       double near_cap);

// The rows of the question's kernel on a device; null: not at hand.
using RowSource = std::function<const DeviceRows*(const KnownDevice& device)>;
// Is told of every candidate in the order of preference, also of those after the answer, until it returns false.
using Observer = std::function<bool(Consideration consideration)>;

// Where the walk through the tiers gets what it needs.
struct Sources {
  RowSource rows;
  ModelSource models;
};

// What the tiers say.
struct Evaluation {
  bool complete = true;                  // false: something that is needed was not at hand
  std::shared_ptr<const Answer> answer;  // null: nothing fits
};

// Exact answers only; complete is always true.
Evaluation evaluate_exact(const Question& question, const RowSource& rows);
// All tiers.
Evaluation evaluate(const Question& question, const Sources& sources, const Observer& observer = nullptr);

// How an answer of this row would look.
Answer to_answer(const Question& question, Tier tier, double distance, const DeviceRows& rows, const DeviceRows::Row& row);

Stale staleness(const Query& query, const std::string& hash);

// True if the method of a measurement is the asked one: itself ("cold/2"), or its cache mode ("cold").
bool method_matches(const std::string& method, const std::string& asked);

}  // namespace tunebook
