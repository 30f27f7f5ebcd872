// Each text is split at = and :, its rank or pair of ranks and its factor are parsed, and a part
// that was named before is refused, since two factors for one thing would have no meaning. The
// scenario is replayed beside the same plan without it.
#include "cli/options/slow_options.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "cli/options/parse.h"
#include "report/words.h"
#include "search/evaluation.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

constexpr const char* kOption = "--slow";

[[noreturn]] void malformed(const std::string& text) {
  bad_option(kOption, fmt::format("'{}' is neither rank=R:FACTOR nor link=R-R:FACTOR", text),
             "write for example --slow rank=3:1.3 or --slow link=2-3:2");
}

int parse_rank(const std::string& text) { return parse_int(kOption, text, 0); }

Factor parse_slowness(const std::string& text) {
  const auto factor = parse_factor(text);
  if (!factor || *factor < Factor{}) {
    bad_option(kOption, fmt::format("'{}' is not a factor", text),
               "give a number from 1 to 1000: how many times as long it takes");
  }
  return *factor;
}

// "link=2-3:2.0" -> link, 2-3, 2.0
struct Part {
  std::string key, place, factor;
};
Part split(const std::string& text) {
  const std::size_t equals = text.find('='), colon = text.find(':');
  if (equals == std::string::npos || colon == std::string::npos || colon < equals) malformed(text);
  return {text.substr(0, equals), text.substr(equals + 1, colon - equals - 1),
          text.substr(colon + 1)};
}

void add(const std::string& text, Scenario& scenario) {
  const Part part = split(text);
  const Factor factor = parse_slowness(part.factor);
  const std::size_t dash = part.place.find('-');
  if (part.key == "rank") {
    scenario.ranks.push_back({parse_rank(part.place), factor});
  } else if (part.key == "link" && dash != std::string::npos) {
    const int one = parse_rank(part.place.substr(0, dash));
    const int other = parse_rank(part.place.substr(dash + 1));
    scenario.links.push_back({std::min(one, other), std::max(one, other), factor});
  } else {
    malformed(text);
  }
}

void refuse_last_named_twice(const std::string& text, const Scenario& scenario) {
  const auto same_rank = [&](const SlowRank& each) {
    return each.rank == scenario.ranks.back().rank;
  };
  const auto same_link = [&](const SlowLink& each) {
    return each.one == scenario.links.back().one && each.other == scenario.links.back().other;
  };
  const bool rank = text.starts_with("rank");
  const auto named = rank ? std::count_if(scenario.ranks.begin(), scenario.ranks.end(), same_rank)
                          : std::count_if(scenario.links.begin(), scenario.links.end(), same_link);
  if (named > 1) {
    bad_option(kOption, fmt::format("'{}' names what is slow already", text),
               "leave one of them out");
  }
}

std::size_t busiest(const std::vector<Duration>& busy, const Program& program) {
  const auto end = busy.begin() + program.pipelines.at(0).ranks;
  return static_cast<std::size_t>(std::max_element(busy.begin(), end) - busy.begin());
}

}  // namespace

void SlowOptions::declare(Options& options) {
  options.repeated(
      kOption, "PART:FACTOR",
      "slow down a part: with rank=3:1.3 rank 3 of every replica computes 1.3 times as "
      "long, with link=2-3:2 transfers between ranks 2 and 3 need twice as long; may "
      "be repeated",
      texts);
}

Scenario SlowOptions::scenario() const {
  Scenario scenario;
  for (const std::string& text : texts) {
    add(text, scenario);
    refuse_last_named_twice(text, scenario);
  }
  return scenario;
}

std::string words_of(const Scenario& scenario) {
  std::vector<std::string> words;
  for (const SlowRank& slow : scenario.ranks) {
    words.push_back(
        fmt::format("rank {} computes {} times as long", slow.rank, to_text(slow.factor)));
  }
  for (const SlowLink& slow : scenario.links) {
    words.push_back(fmt::format("transfers between ranks {} and {} take {} times as long", slow.one,
                                slow.other, to_text(slow.factor)));
  }
  return joined(words, "; ");
}

ScenarioResult slow_down(const Scenario& scenario, const Program& program,
                         const ExecutorModel& executor, StagePrices& prices) {
  const StagePrices even = std::exchange(prices, slowed(prices, program, scenario));
  const TimelineSummary with = simulate_summary(program, prices, executor);
  const TimelineSummary without = simulate_summary(program, even, executor);
  ScenarioResult result;
  result.scenario = words_of(scenario);
  result.step_time = step_time_of(with, executor);
  result.step_time_without = step_time_of(without, executor);
  result.busiest_rank = busiest(with.busy, program);
  result.busiest_rank_without = busiest(without.busy, program);
  result.work = with.busy[result.busiest_rank];
  result.work_without = without.busy[result.busiest_rank_without];
  return result;
}

}  // namespace penstock
