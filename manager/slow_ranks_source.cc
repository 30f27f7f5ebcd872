// Ranks look at windows of steps (morphing/slow_ranks.h) and write their file anew when its answer
// changes. Three things follow from that here:
//
// - A stage all of whose replicas were slow from the beginning may be one for which the plan
//   predicts too little: no machine is blamed for that.
// - A machine is well again when a file names it no more that named it before, or when a new
//   generation has done so many steps on it that its ranks would have been found slow.
// - Factors are measured: a little more or less of one changes nothing.
#include "manager/slow_ranks_source.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "manager/run_folder.h"
#include "report/slow_ranks_report.h"

namespace penstock {
namespace {

// The warm-up, two windows of ten steps, and one more.
constexpr std::int64_t kStepsToBeWell = 33;
constexpr double kSameFactor = 0.075;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double to_two_digits(double factor) { return std::round(factor * 100.0) / 100.0; }

}  // namespace

void SlowRanksSource::read(const std::string& text, const std::string& path) {
  slow_.clear();
  unclear_.clear();
  try {
    for (const RankSlowness& rank : read_slow_ranks(parse_json(text, path), path)) {
      const auto& ranks = state_.generation.ranks;
      const auto placed = std::ranges::find(ranks, rank.rank, &PlacedRank::rank);
      if (placed == ranks.end()) continue;
      if (rank.whole_stage && rank.from_start) {
        unclear_.insert(placed->machine);
        continue;
      }
      double& factor = slow_[placed->machine];
      factor = std::max(factor, rank.factor);
      named_.insert(placed->machine);
    }
  } catch (const Error& error) {
    complain_(error.what());
  }
}

bool SlowRanksSource::is_well(const JobMachine& machine) const {
  if (slow_.contains(machine.name) || unclear_.contains(machine.name)) return false;
  if (named_.contains(machine.name)) return true;
  const Generation& generation = state_.generation;
  return generation.has_stepped && generation.ranks.size() > 1 &&
         state_.last_step - generation.first_step >= kStepsToBeWell;
}

std::vector<Event> SlowRanksSource::poll() {
  if (state_.phase != JobPhase::kRunning) return {};
  if (generation_ != state_.generation.number) {
    generation_ = state_.generation.number;
    text_.clear();
    slow_.clear();
    unclear_.clear();
    named_.clear();
  }
  const std::string path = slow_ranks_path(run_folder_, generation_);
  std::string text = text_of(path);
  if (text.empty()) return {};
  if (text != text_) {
    read(text, path);
    text_ = std::move(text);
  }
  std::vector<Event> events;
  for (const JobMachine& machine : state_.machines) {
    const auto found = slow_.find(machine.name);
    if (found != slow_.end()) {
      const double factor = to_two_digits(found->second);
      const bool is_news =
          machine.slow_factor == 1.0 || std::abs(machine.slow_factor - factor) > kSameFactor;
      if (is_news) events.emplace_back(MachineSlow{machine.name, factor});
    } else if (machine.slow_factor > 1.0 &&
               std::ranges::find(state_.generation.ranks, machine.name, &PlacedRank::machine) !=
                   state_.generation.ranks.end() &&
               is_well(machine)) {
      events.emplace_back(MachineSlow{machine.name, 1.0});
    }
  }
  return events;
}

void SlowRanksSource::decided(const Event& /*event*/, const JobDecision& decision) {
  state_ = decision.next;
}

}  // namespace penstock
