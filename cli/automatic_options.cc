#include "cli/automatic_options.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "cli/parse.h"
#include "core/error.h"

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
      bad_option("--activation", fmt::format("unknown key '{}'", key),
                 "A what a forward takes, W the part that only the weight gradient gives back");
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

}  // namespace

void AutomaticOptions::declare(Options& options) {
  options.option("--limit", "N",
                 "zb-auto (required), zb-v-auto (default P): activations that a rank may hold, in "
                 "micro-batches of a whole rank",
                 limit);
  options.option("--activation", "A=N,W=N",
                 "automatic schedules: memory that a forward takes, and the part that only the "
                 "weight gradient gives back, the input gradient the rest; any unit. Default "
                 "A=1,W=1: held until W",
                 activation);
}

void AutomaticOptions::check(const std::string& name, const ScheduleKind* kind) const {
  const bool automatic = kind != nullptr && kind->is_automatic();
  if (activation && !automatic) {
    bad_option("--activation", name + " has its order whatever the memory", "leave it out");
  }
  const bool limited = automatic && kind->limit_in_ranks == 0;
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
    const std::int64_t chunks = std::int64_t{parse_int("--limit", *limit, 1)} * shape.chunks;
    weighed.limit.assign(static_cast<std::size_t>(shape.ranks), chunks * one.taken);
  }
  ArrangedSchedule arranged = kind.arrange(shape, weighed);
  if (arranged.why_not.empty()) return std::move(arranged.schedule);
  throw_bad_input(fmt::format("{}: {}\nhelp: --limit N stands for N * {}, which is V * A",
                              kind.name, arranged.why_not, std::int64_t{shape.chunks} * one.taken));
}

std::string AutomaticOptions::words() const {
  std::string text;
  if (limit) text += "; limit " + *limit;
  if (activation) text += "; activation " + *activation;
  return text;
}

}  // namespace penstock
