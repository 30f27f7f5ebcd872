#include "studies/outcomes.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "report/measures.h"
#include "search/rolled_program.h"
#include "studies/changes.h"

namespace penstock {
namespace {

constexpr std::size_t kShown = 5;
constexpr std::size_t kMostReplayed = 1 << 23;  // replayed for one kind of question

double effect_of(const Sensitivity& one) {
  return std::max(one.less ? std::abs(one.less->more_speed) : 0.0,
                  one.more ? std::abs(one.more->more_speed) : 0.0);
}

}  // namespace

Duration step_at(const PlanFile& file, const StagePrices& prices) {
  return step_with(file, prices, file.executor);
}

Outcome outcome_of(std::string change, Duration now, Duration step, double samples) {
  Outcome outcome;
  outcome.change = std::move(change);
  outcome.step_time = step;
  if (step <= Duration{}) {
    outcome.why_not = "the step would take no time";
  } else {
    outcome.more_speed = samples * (1.0 + more_speed(now, step)) - 1.0;
  }
  return outcome;
}

Outcome refused(std::string change, std::string why_not) {
  Outcome outcome;
  outcome.change = std::move(change);
  outcome.why_not = std::move(why_not);
  return outcome;
}

std::size_t most_questions(const PlanFile& file, std::size_t replays_each) {
  const std::size_t size =
      std::max<std::size_t>(1, static_cast<std::size_t>(actions_of(file))) * replays_each;
  return std::max(kShown, kMostReplayed / size);
}

void add_strongest(std::vector<Sensitivity> rows, Sensitivities& all) {
  std::stable_sort(rows.begin(), rows.end(), [](const Sensitivity& a, const Sensitivity& b) {
    return effect_of(a) > effect_of(b);
  });
  rows.resize(std::min(rows.size(), kShown));
  std::move(rows.begin(), rows.end(), std::back_inserter(all.all));
}

}  // namespace penstock
