// Each text is split at = and :, its rank or pair of ranks and its factor are parsed, and a part
// that was named before is refused, since two factors for one thing would have no meaning. What is
// unmistakable is taken as well: a rank without its key, a factor in percent. The
// scenario is replayed beside the same plan without it.
#include "cli/options/slow_options.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/words/parse.h"
#include "report/job_rank.h"
#include "report/words.h"
#include "search/evaluation.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

constexpr const char* kOption = "--slow";
constexpr int kMostSlow = 1000;

// What one --slow says: "link=2-3:2", "rank=3:1.3" and "3:1.3", "gpu=17:1.3", and of several
// options that belong together "rank=3" or "by=30%" alone.
struct Said {
  std::string text;    // as typed
  std::string key;     // rank, gpu, node, link or by
  std::string place;   // "3", "2-3"; empty: of what a factor is said
  std::string factor;  // empty: none
};

[[noreturn]] void malformed(const std::string& text) {
  bad_option(kOption, fmt::format("'{}' is neither rank=R:FACTOR nor link=R-R:FACTOR", text),
             "write for example --slow rank=3:1.3 or --slow link=2-3:2");
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// "3", "2-3", "rank3" and "gpu:17" without a key before =; the factor behind it.
Said without_key(const std::string& text) {
  const std::size_t sign = text.find_last_of(":=");
  Said said{text, "rank", text.substr(0, sign), ""};
  if (sign != std::string::npos) said.factor = text.substr(sign + 1);
  for (const char* key : {"rank", "gpu", "node", "link"}) {
    if (!said.place.starts_with(key)) continue;
    said.key = key;
    said.place.erase(0, said.key.size());
    if (said.place.starts_with(':')) said.place.erase(0, 1);
  }
  if (said.place.find('-') != std::string::npos) said.key = "link";
  const std::size_t end = said.place.find_first_not_of("0123456789-");
  if (said.place.empty() || end != std::string::npos) malformed(text);
  return said;
}

// "node=2,factor=1.3" as "node=2:1.3".
std::string with_colon(std::string text) {
  const std::size_t comma = text.find(','), equals = text.find('=', std::min(comma, text.size()));
  if (comma == std::string::npos || equals == std::string::npos) return text;
  return text.replace(comma, equals + 1 - comma, ":");
}

Said said_in(const std::string& typed) {
  const std::string text = with_colon(typed);
  const std::size_t equals = text.find('='), colon = text.find(':');
  const std::string key = text.substr(0, equals);
  if (key == "by" && equals != std::string::npos) return {text, "by", "", text.substr(equals + 1)};
  const bool is_factor = text.ends_with('%') || text.ends_with('x') || text.find('.') < colon;
  if (equals == std::string::npos && colon == std::string::npos && is_factor) {
    return {text, "by", "", text};
  }
  if (key != "rank" && key != "gpu" && key != "node" && key != "link") return without_key(text);
  if (equals == std::string::npos || (colon != std::string::npos && colon < equals)) {
    return without_key(text);
  }
  Said said{text, key, text.substr(equals + 1, colon - equals - 1), ""};
  if (colon != std::string::npos) said.factor = text.substr(colon + 1);
  if ((said.key == "link") != (said.place.find('-') != std::string::npos)) malformed(text);
  return said;
}

// "30%" and "+30%" as 1.3, "130%" as 1.3, "2x" as 2; other texts as they are.
std::string plain_factor(const std::string& text) {
  std::string number = text;
  const bool is_more = number.starts_with('+'), is_percent = number.ends_with('%');
  if (is_more || number.starts_with('x')) number.erase(0, 1);
  if (is_percent || number.ends_with('x')) number.pop_back();
  const auto value = parse_factor(number);
  if (!value || !is_percent) return is_more && !is_percent ? text : number;
  constexpr double kPercent = 100.0;
  const double share = static_cast<double>(value->millionths) / 1e6 / kPercent;
  return fmt::format("{}", is_more || share < 1.0 ? 1.0 + share : share);
}

// "0.7": of what was meant as a speed.
std::string help_for_speed(const Said& said, const std::string& plain) {
  const auto speed = parse_factor(plain);
  if (!speed || speed->millionths <= 0 || said.place.empty()) return "";
  const double times = 1e6 / static_cast<double>(speed->millionths);
  return fmt::format(
      "; at {} of its speed it takes {:.3g} times as long: write --slow {}={}:{:.3g}", plain, times,
      said.key, said.place, times);
}

Factor factor_of(const Said& said) {
  const std::string plain = plain_factor(said.factor);
  const auto factor = parse_factor(plain);
  if (factor && *factor >= Factor{}) return *factor;
  bad_option(kOption, fmt::format("'{}' is not a factor", said.factor),
             fmt::format("give a number from 1 to {}: how many times as long it takes{}", kMostSlow,
                         factor ? help_for_speed(said, plain) : ""));
}

int rank_of(const std::string& text) { return parse_int(kOption, text, 0); }

// "3" alone is the GPU of a job, as likely as not, where the plan has so many.
std::string help_for_bare(const Said& said, const Plan* plan) {
  const bool has_key = said.text.find('=') != std::string::npos || !is_number(said.text);
  const bool may_be_gpu = plan != nullptr && !plan->has_unequal_replicas() && !has_key &&
                          rank_of(said.place) < plan->devices();
  const std::string as_typed =
      fmt::format("--slow {}={}:1.3 for 1.3 times as long", said.key, said.place);
  if (!may_be_gpu) return "write " + as_typed;
  const std::string gpu =
      fmt::format("--slow gpu={}:1.3 for GPU {} of the job", said.place, said.place);
  if (rank_of(said.place) >= plan->pipeline)
    return fmt::format("write {}, which takes 1.3 times as long", gpu);
  return fmt::format(
      "write {}, which takes 1.3 times as long, or --slow rank={}:1.3 for that rank of every "
      "pipeline",
      gpu, said.place);
}

// A part and its factor may stand in options of their own: --slow-gpu 17 --slowdown 30%.
std::vector<Said> with_factors(const std::vector<std::string>& texts, const Plan* plan) {
  std::vector<Said> parts;
  std::string factor;
  for (const std::string& text : texts) {
    Said said = said_in(text);
    if (said.key != "by") {
      parts.push_back(std::move(said));
    } else if (factor.empty()) {
      factor = said.factor;
    } else {
      bad_option(kOption, fmt::format("'{}' is a second factor", said.factor),
                 "write each part with its factor: --slow rank=1:1.3 --slow rank=2:1.5");
    }
  }
  if (!factor.empty() && parts.empty()) {
    bad_option(kOption, fmt::format("'{}' says how slow, and not what", factor),
               fmt::format("write the rank of a pipeline as well: --slow rank=0:{}",
                           plain_factor(factor)));
  }
  for (Said& said : parts) {
    if (said.factor.empty()) said.factor = factor;
    if (said.place.empty()) malformed(said.text);
    if (!said.factor.empty() || said.text.find(':') != std::string::npos) continue;
    if (said.key != "link" && !is_number(said.place)) malformed(said.text);
    bad_option(kOption, fmt::format("'{}' does not say how slow", said.text),
               help_for_bare(said, plan));
  }
  return parts;
}

// The rank of a pipeline of which the GPU is one.
int rank_of_gpu(const Said& said, const Plan* plan) {
  const int gpu = rank_of(said.place);
  if (plan == nullptr || plan->has_unequal_replicas()) {
    bad_option(kOption,
               fmt::format("'{}' names a GPU of a job, and ranks of a pipeline are asked "
                           "for here",
                           said.text),
               fmt::format("write --slow rank=R:{}, with R the place in the pipeline that the GPU "
                           "has",
                           said.factor));
  }
  if (gpu < plan->devices()) return pipeline_rank_of(*plan, gpu);
  bad_option(
      kOption,
      fmt::format("the plan has GPUs 0 to {}, and {} is none of them", plan->devices() - 1, gpu),
      fmt::format("write one of those, or the rank of a pipeline: --slow rank=0:{}", said.factor));
}

// The ranks of a pipeline that the GPUs of a node are of.
std::vector<int> ranks_of_node(const Said& said, const Plan* plan, int node_size) {
  if (plan == nullptr || plan->has_unequal_replicas()) {
    bad_option(kOption, fmt::format("'{}' names a node, and ranks are asked for here", said.text),
               fmt::format("write --slow rank=R:{}, with R the place in the pipeline that the "
                           "node's GPUs have",
                           said.factor));
  }
  const int node = rank_of(said.place), nodes = (plan->devices() + node_size - 1) / node_size;
  if (node >= nodes) {
    bad_option(kOption,
               fmt::format("the plan has nodes 0 to {}, and {} is none of them", nodes - 1, node),
               fmt::format("write one of those, for example --slow node=0:{}", said.factor));
  }
  std::vector<int> ranks;
  const int end = std::min(plan->devices(), (node + 1) * node_size);
  for (int gpu = node * node_size; gpu < end; ++gpu) {
    const int rank = pipeline_rank_of(*plan, gpu);
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
  }
  return ranks;
}

// A rank that no pipeline has is a GPU of the job, as likely as not.
void refuse_rank_as_gpu(const Said& said, const Plan* plan) {
  const int rank = rank_of(said.place);
  if (plan == nullptr || rank < plan->pipeline || plan->has_unequal_replicas()) return;
  const bool is_gpu = rank < plan->devices();
  const int meant = is_gpu ? pipeline_rank_of(*plan, rank) : plan->pipeline - 1;
  const std::string what =
      is_gpu ? fmt::format("GPU {} of the job is of rank {}: ", rank, meant) : "the last of them: ";
  bad_option(kOption,
             fmt::format("'{}': the pipeline has {}", said.text,
                         plan->pipeline == 1 ? "rank 0 alone"
                                             : fmt::format("ranks 0 to {}", plan->pipeline - 1)),
             fmt::format("{}write --slow rank={}:{}", what, meant, plain_factor(said.factor)));
}

void add(const Said& said, const Plan* plan, int node_size, Scenario& scenario) {
  const Factor factor = factor_of(said);
  if (said.key == "node") {
    for (const int rank : ranks_of_node(said, plan, node_size)) {
      scenario.ranks.push_back({rank, factor});
    }
  } else if (said.key == "gpu") {
    scenario.ranks.push_back({rank_of_gpu(said, plan), factor});
  } else if (said.key == "rank") {
    refuse_rank_as_gpu(said, plan);
    scenario.ranks.push_back({rank_of(said.place), factor});
  } else {
    const std::size_t dash = said.place.find('-');
    const int one = rank_of(said.place.substr(0, dash));
    const int other = rank_of(said.place.substr(dash + 1));
    scenario.links.push_back({std::min(one, other), std::max(one, other), factor});
  }
}

void refuse_last_named_twice(const Said& said, const Scenario& scenario) {
  const auto same_rank = [&](const SlowRank& each) {
    return each.rank == scenario.ranks.back().rank;
  };
  const auto same_link = [&](const SlowLink& each) {
    return each.one == scenario.links.back().one && each.other == scenario.links.back().other;
  };
  const auto named = said.key != "link"
                         ? std::count_if(scenario.ranks.begin(), scenario.ranks.end(), same_rank)
                         : std::count_if(scenario.links.begin(), scenario.links.end(), same_link);
  if (named > 1) {
    bad_option(kOption, fmt::format("'{}' names what is slow already", said.text),
               "leave one of them out");
  }
}

Scenario scenario_of(const std::vector<std::string>& texts, const Plan* plan, int node_size) {
  Scenario scenario;
  for (const Said& said : with_factors(texts, plan)) {
    add(said, plan, node_size, scenario);
    refuse_last_named_twice(said, scenario);
  }
  return scenario;
}

std::size_t busiest(const std::vector<Duration>& busy, const Program& program) {
  const auto end = busy.begin() + program.pipelines.at(0).ranks;
  return static_cast<std::size_t>(std::max_element(busy.begin(), end) - busy.begin());
}

}  // namespace

void SlowOptions::declare(Options& options) {
  options.repeated(
      kOption, "PART:FACTOR",
      "slow down a part: with rank=3:1.3 or rank=3:30% rank 3 of every replica computes 1.3 "
      "times as long, with link=2-3:2 transfers between ranks 2 and 3 need twice as long; to "
      "simulate and explain also gpu=17:1.3, the rank that GPU 17 is of, and node=2:1.3, those of "
      "the GPUs of node 2; may be repeated",
      texts);
}

Scenario SlowOptions::scenario() const { return scenario_of(texts, nullptr, 1); }

Scenario SlowOptions::scenario(const Plan& plan, int node_size) const {
  return scenario_of(texts, &plan, std::max(node_size, 1));
}

std::string SlowOptions::gpus_in_words(const Plan& plan, int node_size) const {
  std::string words;
  for (const Said& said : with_factors(texts, &plan)) {
    if (said.key == "node") {
      std::vector<std::string> ranks;
      for (const int rank : ranks_of_node(said, &plan, std::max(node_size, 1))) {
        ranks.push_back(std::to_string(rank));
      }
      words += fmt::format("; node {} of the job has rank{} {}", said.place,
                           ranks.size() == 1 ? "" : "s", joined(ranks, " and "));
    }
    if (said.key != "gpu") continue;
    words += fmt::format("; GPU {} of the job is of rank {}", rank_of(said.place),
                         rank_of_gpu(said, &plan));
  }
  return words;
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
