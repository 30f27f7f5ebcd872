// Limits are typed in micro-batches and handed on in the units of --activation, per chunk: N x V x
// A. Options that a schedule would not look at are refused, with the schedule that does.
#include "cli/options/automatic_options.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/words/parse.h"
#include "core/values/error.h"

namespace penstock {
namespace {

// Proportions, so that a limit in them fits 64 bits.
constexpr int kLargest = 1'000'000'000;
constexpr const char* kExample = "give both, for example A=201216,W=73728";

struct Activation {
  int taken = 1;            // by F, of one chunk
  int freed_by_weight = 1;  // of that; the rest by I
};

Activation parse_activation(const std::string& text) {
  std::optional<int> taken, freed_by_weight;
  for (const auto& [key, value] : parse_key_values("--activation", text)) {
    if (key == "A") {
      taken = parse_int("--activation A", value, 1, kLargest);
    } else if (key == "W") {
      freed_by_weight = parse_int("--activation W", value, 0, kLargest);
    } else {
      bad_option(
          "--activation", fmt::format("unknown key '{}'", key),
          "A: memory that a forward needs; W: the part of it that only the weight gradient frees");
    }
  }
  if (!taken || !freed_by_weight) {
    bad_option("--activation", fmt::format("{} is missing", taken ? 'W' : 'A'), kExample);
  }
  if (*freed_by_weight > *taken) {
    bad_option("--activation", "W, a part of A, is more than A", kExample);
  }
  return {*taken, *freed_by_weight};
}

// Micro-batches per rank: one number for all ranks, or one for each.
std::vector<int> parse_limits(const std::string& text, int ranks) {
  std::vector<int> limits;
  for (const std::string& one : parse_list("--limit", text)) {
    limits.push_back(parse_int("--limit", one, 1));
  }
  if (limits.size() == 1) limits.resize(static_cast<std::size_t>(ranks), limits.front());
  if (limits.size() != static_cast<std::size_t>(ranks)) {
    bad_option("--limit", fmt::format("{} values for {} ranks", limits.size(), ranks),
               "give one for all ranks or one for each, for example --limit 8 or --limit 8,8,7,6");
  }
  return limits;
}

// What is held from I to W, as a part of what F takes.
std::string held_words(const Activation& one) {
  if (one.freed_by_weight == one.taken) return "all of it held until W";
  return fmt::format("{:.3g} % of it held until W",
                     100.0 * one.freed_by_weight / static_cast<double>(one.taken));
}

}  // namespace

void AutomaticOptions::declare(Options& options) {
  options.option("--limit", "N[,N,...]",
                 "zb-auto (required), zb-v-auto (default P): activations that a rank may hold, in "
                 "micro-batches of a whole rank; one number for all ranks, or one for each",
                 limit);
  options.option("--activation", "A=N,W=N",
                 "automatic schedules: A is the memory that a forward allocates, W the part of "
                 "it that only the weight gradient frees (the input gradient frees the rest); in "
                 "any unit. Default A=1,W=1: all is held until W",
                 activation);
  options.option("--shortest", "WHAT",
                 "zb-auto, zb-v-auto: what to minimise. makespan (default): the step, if all "
                 "ranks wait for each other before the next one; span: the longest time of a "
                 "rank from its first start to its last end, for --optimizer post-validation",
                 shortest);
  options.choices({"makespan", "span"});
}

void AutomaticOptions::check(const std::string& name, const ScheduleKind* kind) const {
  const bool automatic = kind != nullptr && kind->is_automatic();
  if (activation && !automatic) {
    bad_option("--activation", name + " has its order whatever the memory", "leave it out");
  }
  const bool limited = automatic && kind->limit_in_ranks == 0;
  if (shortest && !limited) {
    bad_option("--shortest", name + (automatic ? " goes by the span" : " is not searched for"),
               "leave it out, or choose zb-auto");
  }
  if (limit && !limited) {
    bad_option("--limit",
               automatic ? fmt::format("{} is the one with a limit of {}", name,
                                       kind->limit_in_ranks == 1 ? "P" : "2P")
                         : name + " has no limit",
               "leave it out, or choose zb-auto");
  }
  if (!limit && limited && kind->most_chunks == 1) {
    bad_option("--limit", "missing", "add how many activations a rank may hold: --limit 8");
  }
}

Schedule AutomaticOptions::arranged(const ScheduleKind& kind, const ScheduleShape& shape,
                                    const ScheduleCosts& costs,
                                    const ExecutorModel& executor) const {
  StageCosts weighed =
      stage_costs(costs.prices, stage_ranks(kind.map, shape), executor, costs.recompute);
  const Activation one = activation ? parse_activation(*activation) : Activation{};
  const std::size_t stages = weighed.forward.size();
  weighed.taken_by_forward.assign(stages, one.taken);
  weighed.freed_by_weight_gradient.assign(stages, one.freed_by_weight);
  weighed.freed_by_input_gradient.assign(stages, one.taken - one.freed_by_weight);
  if (limit) {
    for (const int whole : parse_limits(*limit, shape.ranks)) {
      weighed.limit.push_back(std::int64_t{whole} * shape.chunks * one.taken);
    }
  }
  if (shortest) {
    weighed.shortest = parse_word<Shortest>(
        "--shortest", *shortest, {{"makespan", Shortest::kMakespan}, {"span", Shortest::kSpan}});
  }
  ArrangedSchedule arranged = kind.arrange(shape, weighed);
  if (arranged.why_not.empty()) return std::move(arranged.schedule);
  throw_bad_input(fmt::format("{}: {}\nhelp: --limit N stands for N * {}, which is V * A",
                              kind.name, arranged.why_not, std::int64_t{shape.chunks} * one.taken));
}

std::string AutomaticOptions::words(const ScheduleKind* kind) const {
  if (kind == nullptr || !kind->is_automatic()) return "";
  std::string text;
  if (limit) text += "; limit " + *limit;
  if (shortest) text += "; shortest " + *shortest;
  const Activation one = activation ? parse_activation(*activation) : Activation{};
  return text +
         fmt::format("; activation A={},W={}, {}", one.taken, one.freed_by_weight, held_words(one));
}

}  // namespace penstock
