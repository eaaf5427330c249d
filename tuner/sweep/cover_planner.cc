#include "sweep/cover_planner.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tunebook {

CoverPlanner::CoverPlanner(std::vector<CoverRegion> regions, CoverSource source)
    : regions_(std::move(regions)), source_(std::move(source)) {
  for (const CoverRegion& region : regions_) {
    questions_.push_back(draw_questions(region));
    RegionProgress& progress = progress_.emplace_back();
    progress.region = region.display();
    progress.questions = questions_.back().size();
    progress.target_loss = region.target_loss;
  }
}

std::vector<CoverDecision> CoverPlanner::next(std::size_t count,
                                              const std::set<std::string>& tried) {
  std::vector<CoverChoice> choices;
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    CoverKnowledge knowledge = source_(regions_[i], questions_[i]);
    if (count > 0) count = std::max(count, knowledge.tuned.size() / kShareChosen);
    choices.emplace_back(regions_[i], questions_[i], std::move(knowledge));
    RegionProgress& progress = progress_[i];
    progress.now = choices[i].expected_loss();
    if (!begun_) progress.before = progress.now;
    progress.model = choices[i].has_model();
    progress.covered = progress.model && progress.now < progress.target_loss;
  }
  begun_ = true;

  std::set<std::string> passed = tried;
  std::vector<CoverDecision> decisions;
  while (decisions.size() < count) {
    std::optional<CoverPick> best;
    std::size_t best_region = 0;
    double best_worth = 0;
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      if (choices[i].has_model() && choices[i].expected_loss() < regions_[i].target_loss) continue;
      if (regions_[i].most_shapes > 0 && progress_[i].tuned >= regions_[i].most_shapes) continue;
      const auto pick = choices[i].next([&](const CoverQuestion& question) {
        return passed.contains(regions_[i].item_for(question.sizes).id());
      });
      if (!pick) continue;
      const double worth = regions_[i].item.settings.priority * (pick->before - pick->after);
      if (best && worth <= best_worth) continue;
      best = pick;
      best_region = i;
      best_worth = worth;
    }
    if (!best) break;
    const CoverQuestion& question = choices[best_region].questions()[best->question];
    CoverDecision decision{best_region, regions_[best_region].item_for(question.sizes),
                           best->reason()};
    passed.insert(decision.item.id());
    choices[best_region].tune(best->question);
    ++progress_[best_region].tuned;
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

void CoverPlanner::take_up(const nlohmann::ordered_json& earlier) {
  if (!earlier.is_array() || earlier.size() != progress_.size()) return;
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    const auto& one = earlier[i];
    if (!one.is_object()) return;
    const auto before = one.find("before"), tuned = one.find("tuned");
    if (before == one.end() || !before->is_number() || tuned == one.end() ||
        !tuned->is_number_unsigned())
      return;
  }
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    progress_[i].before = earlier[i]["before"].get<double>();
    progress_[i].tuned = earlier[i]["tuned"].get<std::size_t>();
  }
  begun_ = true;
}

nlohmann::ordered_json CoverPlanner::to_json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const RegionProgress& one : progress_) {
    list.push_back({{"region", one.region},
                    {"questions", one.questions},
                    {"target_loss", one.target_loss},
                    {"before", one.before},
                    {"now", one.now},
                    {"model", one.model},
                    {"tuned", one.tuned},
                    {"covered", one.covered}});
  }
  return list;
}

std::string regions_text(const nlohmann::ordered_json& regions) {
  std::string text;
  if (!regions.is_array()) return text;
  for (const auto& one : regions) {
    try {
      text += fmt::format(
          "region {}: {} shapes tuned, expected loss {:.2f} % before, {:.2f} % now{}; {}\n",
          one.at("region").get<std::string>(), one.at("tuned").get<std::uint64_t>(),
          100 * one.at("before").get<double>(), 100 * one.at("now").get<double>(),
          one.at("model").get<bool>() ? "" : " (by distances alone: there is no model of time yet)",
          one.at("covered").get<bool>()
              ? fmt::format("covered: less than {:g} %", 100 * one.at("target_loss").get<double>())
              : fmt::format("not covered: the target is {:g} %",
                            100 * one.at("target_loss").get<double>()));
    } catch (const nlohmann::json::exception&) {
      continue;
    }
  }
  return text;
}

}  // namespace tunebook
