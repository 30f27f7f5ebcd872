// A file's lists for M micro-batches are extrapolated: the same plan is lowered with few
// micro-batches, at three sizes that are a whole number of repetitions apart, and written; every
// value that is equal in all three, or grows evenly, is carried on to the wanted size. Blocks of
// lists repeat by nature; what repeats is what a steady state repeats (sizes_of()). Where anything
// grows in another way there is no rolled form, and the Program is written out.
//
// Invariant: a rolled file read in full is the file that writing out would have given;
// tests/search/rolled_program_test.cc compares both.
#include "search/rolled_program.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "core/files/program_blocks.h"
#include "core/files/program_file.h"
#include "core/files/read_known_program.h"
#include "core/values/durations.h"
#include "search/steady_plan.h"
#include "simulator/schedules/schedules.h"
#include "simulator/simulate.h"
#include "simulator/simulate_schedule.h"

namespace penstock {
namespace {

// What stands at one place of three files of evenly growing numbers of micro-batches, and how many
// steps behind the first the wanted one is.
class Series {
 public:
  explicit Series(std::int64_t steps) : steps_(steps) {}

  // Of values that are equal, or numbers or names of actions that grow evenly.
  [[nodiscard]] std::optional<Json> continued(const Json& a, const Json& b, const Json& c) const {
    if (a.kind() != b.kind() || b.kind() != c.kind()) return {};
    switch (a.kind()) {
      case Json::Kind::kArray:
        return array(a, b, c);
      case Json::Kind::kObject:
        return object(a, b, c);
      case Json::Kind::kNumber:
        return number(a, b, c);
      case Json::Kind::kString:
        return name(a, b, c);
      default:
        return a == b && b == c ? std::optional(a) : std::nullopt;
    }
  }

  [[nodiscard]] std::optional<std::int64_t> continued(std::int64_t a, std::int64_t b,
                                                      std::int64_t c) const {
    if (b - a != c - b) return {};
    return a + (b - a) * steps_;
  }

 private:
  [[nodiscard]] std::optional<Json> array(const Json& a, const Json& b, const Json& c) const {
    const std::size_t size = a.elements().size();
    if (b.elements().size() != size || c.elements().size() != size) return {};
    Json result = Json::array();
    for (std::size_t i = 0; i < size; ++i) {
      auto element = continued(a.elements()[i], b.elements()[i], c.elements()[i]);
      if (!element) return {};
      result.push(std::move(*element));
    }
    return result;
  }

  [[nodiscard]] std::optional<Json> object(const Json& a, const Json& b, const Json& c) const {
    const std::size_t size = a.members().size();
    if (b.members().size() != size || c.members().size() != size) return {};
    Json result = Json::object();
    for (std::size_t i = 0; i < size; ++i) {
      const auto& [key, value] = a.members()[i];
      if (b.members()[i].first != key || c.members()[i].first != key) return {};
      auto member = continued(value, b.members()[i].second, c.members()[i].second);
      if (!member) return {};
      result.set(key, std::move(*member));
    }
    return result;
  }

  [[nodiscard]] std::optional<Json> number(const Json& a, const Json& b, const Json& c) const {
    const auto x = whole(a.text()), y = whole(b.text()), z = whole(c.text());
    if (!x || !y || !z) return {};
    const auto value = continued(*x, *y, *z);
    return value ? std::optional<Json>(*value) : std::nullopt;
  }
  [[nodiscard]] static std::optional<std::int64_t> whole(const std::string& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
  }

  [[nodiscard]] std::optional<Json> name(const Json& a, const Json& b, const Json& c) const {
    if (a == b && b == c) return a;
    const auto x = action_named(a.text()), y = action_named(b.text()), z = action_named(c.text());
    if (!x || !y || !z || !is_same_but_later(*x, *y) || !is_same_but_later(*x, *z)) return {};
    const auto first = continued(x->micro_batch, y->micro_batch, z->micro_batch);
    const auto second =
        x->is_pair() ? continued(x->backward, y->backward, z->backward) : std::optional(0L);
    if (!first || !second) return {};
    ListedAction action = *x;
    action.micro_batch = static_cast<std::uint32_t>(*first);
    if (x->is_pair()) action.backward = static_cast<std::uint32_t>(*second);
    return name_of(action);
  }
  static bool is_same_but_later(const ListedAction& a, ListedAction b) {
    b.micro_batch = a.micro_batch;
    b.backward = a.backward;
    return a == b;
  }

  std::int64_t steps_;
};

struct Sizes {
  int first = 0, step = 0;  // micro-batches of the smallest Program, from one to the next
  std::int64_t steps = 0;   // from the first to the wanted one
};

// The steady state repeats after at most two groups of P micro-batches, or of the plan's own.
std::optional<Sizes> sizes_of(const Plan& plan) {
  if (!plan.has_even_batch()) return {};
  const int micro_batches = first_load(plan).micro_batches;
  Sizes sizes;
  sizes.step = 2 * std::lcm(plan.pipeline, std::max(plan.group, 1));
  const int enough = 4 * plan.pipeline * (plan.chunks + 1) + 2 * sizes.step;
  sizes.first = enough + (micro_batches - enough) % sizes.step;
  if (micro_batches <= sizes.first + 3 * sizes.step) return {};
  sizes.steps = (micro_batches - sizes.first) / sizes.step;
  return sizes;
}

// Every replica has so many micro-batches less.
Plan with_fewer(Plan plan, int micro_batches) {
  plan.global_batch -= micro_batches * plan.micro_batch_size * plan.data;
  return plan;
}

// Unequal replicas are written out: their numbers of micro-batches do not grow alike. So is a batch
// that is not even: its memory is summed up micro-batch by micro-batch.
bool is_known_order(const Plan& plan) {
  const ScheduleKind* kind = find_schedule(plan.schedule);
  return plan.has_even_batch() && !plan.has_unequal_replicas() && kind != nullptr &&
         !kind->is_automatic() && kind->rule == RunTimeRule::kNone && why_no_program(plan).empty();
}

// Of every shape of micro-batch.
bool has_prices_for(const PlanFile& file) {
  const auto pipelines = rolled_inputs(file.plan);
  return std::all_of(pipelines.begin(), pipelines.end(), [&](const RolledInput& pipeline) {
    const auto& runs = pipeline.micro_batches;
    return std::all_of(runs.begin(), runs.end(), [&](const MicroBatchRun& run) {
      return run.each.shape < file.prices.shapes;
    });
  });
}

}  // namespace

std::optional<RolledProgram> rolled_program(const Plan& plan, const std::vector<PlanTie>& ties,
                                            bool recomputes, const ExecutorModel& executor) {
  if (!is_known_order(plan)) return {};
  const auto sizes = sizes_of(plan);
  if (!sizes) return {};
  const int all = first_load(plan).micro_batches;
  std::vector<Json> programs;
  std::vector<std::int64_t> actions;
  for (int n = 0; n < 3; ++n) {
    const Plan smaller = with_fewer(plan, all - sizes->first - n * sizes->step);
    if (!why_no_program(smaller).empty()) return {};
    const Program program =
        program_of(schedules_of(smaller), lowering_of(smaller, ties, recomputes, executor));
    actions.push_back(std::ssize(program.actions));
    programs.push_back(write_program(program));
  }
  const Series series(sizes->steps);
  const auto count = series.continued(actions[0], actions[1], actions[2]);
  auto json = series.continued(programs[0], programs[1], programs[2]);
  if (!json || !count || static_cast<std::uint64_t>(*count) > kMostActions) return {};
  return RolledProgram{std::move(*json), *count};
}

RolledFile rolled_file(const PlanFile& file) {
  return {schedules_of(file.plan),
          lowering_of(file.plan, file.ties, takes_recompute_time(file.prices), file.executor)};
}

PlanFile read_plan_rolled_up(const Json& json, const std::string& file, const IsLarge& is_large) {
  return read_plan_unless_known(json, file, [&](const PlanFile& before, const Json& program) {
    const auto& executor = before.executor;
    const auto expected =
        rolled_program(before.plan, before.ties, takes_recompute_time(before.prices), executor);
    return expected && is_large(before.plan, expected->actions) && expected->json == program &&
           has_prices_for(before);
  });
}

std::int64_t rolled_actions(const PlanFile& file) {
  const auto program =
      rolled_program(file.plan, file.ties, takes_recompute_time(file.prices), file.executor);
  return program ? program->actions : 0;
}

std::int64_t actions_of(const PlanFile& file) {
  return is_rolled_up(file) ? rolled_actions(file) : std::ssize(file.program.actions);
}

PlanFile with_few_micro_batches(const PlanFile& file) { return few_micro_batches(file).first; }

FewMicroBatches few_micro_batches(const PlanFile& file) {
  const auto sizes = sizes_of(file.plan);
  if (!sizes) return {file, file, 0};  // not of many micro-batches
  const int all = first_load(file.plan).micro_batches;
  const auto with = [&](int micro_batches) {
    PlanFile result = file;
    result.plan = with_fewer(file.plan, all - micro_batches);
    const RolledFile rolled = rolled_file(result);
    result.program = program_of(rolled.schedules, rolled.options);
    return result;
  };
  return {with(sizes->first), with(sizes->first + sizes->step), sizes->steps};
}

bool can_be_rolled_up(const PlanFile& without_program, bool recomputes) {
  const PlanFile& file = without_program;
  return recomputes == takes_recompute_time(file.prices) &&
         rolled_program(file.plan, file.ties, recomputes, file.executor).has_value();
}

Json write_plan_rolled_up(const PlanFile& file) {
  if (!is_rolled_up(file)) return write_plan(file);
  const auto program =
      rolled_program(file.plan, file.ties, takes_recompute_time(file.prices), file.executor);
  const Json rest = write_plan(file);
  Json json = Json::object();
  for (const auto& [key, value] : rest.members()) {
    json.set(key, program && key == "program" ? program->json : value);
  }
  return json;
}

TimelineSummary rolled_summary(const PlanFile& file, const StagePrices& prices,
                               const ExecutorModel& executor) {
  return rolled_summary(file.plan, file.ties, takes_recompute_time(file.prices), prices, executor);
}

TimelineSummary rolled_summary(const Plan& plan, const std::vector<PlanTie>& ties, bool recomputes,
                               const StagePrices& prices, const ExecutorModel& executor) {
  const PlanSchedules schedules = schedules_of(plan);
  const LoweringOptions options = lowering_of(plan, ties, recomputes, executor);
  if (can_simulate_schedule(executor)) {
    return simulate_schedule(schedules.pipelines, options, prices, executor);
  }
  if (const auto few = summary_by_few(plan, ties, recomputes, prices, executor)) return *few;
  return simulate_summary(program_of(schedules, options), prices, executor);
}

}  // namespace penstock
