// A predicted step beside a measured one: the verdict, memory, then medians per kind of action, per
// rank, and the single actions that lie farthest apart. Comparisons come ready from the validation;
// here they are only sorted (stably, by how far the ends differ) and printed. An error is predicted
// over measured, less one.
#include <algorithm>

#include <fmt/format.h>

#include "report/screen.h"
#include "report/table.h"
#include "report/validation.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::size_t kLargest = 8;  // deviations that are listed

std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100.0 * share); }

std::string verdict(const Validation& v) {
  const std::string distance =
      v.error < 0 ? percent(-v.error) + " too short" : percent(v.error) + " too long";
  return fmt::format("the prediction is {}; the tolerance of {} {}\n", distance,
                     percent(v.tolerance), v.holds() ? "holds" : "does NOT hold");
}

// What penstock train wrote names its plan.
bool is_own_run(const RunHeader& run) { return !run.plan_hash.empty(); }

std::string step_lines(const Validation& v, const RunHeader& run) {
  std::string out =
      fmt::format("predicted  {}\nmeasured   {}  median of {}; {} to {}, median deviation {}\n",
                  aligned(v.predicted), aligned(v.measured), count_of(v.steps, "step"),
                  to_text(v.fastest), to_text(v.slowest), to_text(v.measured_spread));
  if (v.skipped > 0)
    out += fmt::format("           {} left out as warm-up\n", count_of(v.skipped, "step"));
  out += "           " + count_of(run.ranks, "rank");
  if (!run.device.empty()) out += " on " + run.device;
  for (const std::string& part : {run.transport, run.library}) {
    if (!part.empty()) out += ", " + part;
  }
  // Other trainers' logs have no threads, and profiler traces do not say when they were recorded.
  if (is_own_run(run)) out += ", " + count_of(run.threads_per_rank, "thread") + " per rank";
  if (!run.started.empty()) out += ", " + run.started;
  return out + '\n';
}

std::string kind_table(const Validation& v, Screen screen) {
  TextTable table({{"action", true},
                   {"stage"},
                   {"per step"},
                   {"predicted"},
                   {"measured"},
                   {"least"},
                   {"most"},
                   {"error"}});
  for (const KindComparison& kind : v.kinds) {
    table.add({std::string(name_of(kind.kind)), std::to_string(kind.stage),
               std::to_string(kind.count), aligned(kind.predicted), aligned(kind.measured),
               aligned(kind.fastest), aligned(kind.slowest),
               signed_percent(prediction_error(kind.predicted, kind.measured))});
  }
  return "\nOne action (measured: median over steps and micro-batches)\n" +
         table.text(screen.width());
}

std::string section_table(const Validation& v, Screen screen) {
  if (v.sections.empty()) return "";
  TextTable table({{"sections", true}, {"per step"}, {"measured"}, {"least"}, {"most"}});
  for (const SectionComparison& section : v.sections) {
    table.add({std::string(name_of(section.kind)), std::to_string(section.count),
               aligned(section.measured), aligned(section.fastest), aligned(section.slowest)});
  }
  return "\nWhat sections gather and reduce by themselves, beside F and B, which hold what of it "
         "shows\n" +
         table.text(screen.width());
}

std::string rank_table(const Validation& v, Screen screen) {
  TextTable table({{"rank"},
                   {"computes, predicted"},
                   {"measured"},
                   {"error"},
                   {"ends, predicted", false, 4},
                   {"measured"},
                   {"error"}});
  for (const RankComparison& rank : v.ranks) {
    table.add({std::to_string(rank.rank), aligned(rank.predicted_busy), aligned(rank.measured_busy),
               signed_percent(prediction_error(rank.predicted_busy, rank.measured_busy)),
               aligned(rank.predicted_end), aligned(rank.measured_end),
               signed_percent(prediction_error(rank.predicted_end, rank.measured_end))});
  }
  return "\nRanks (medians over steps)\n" + table.text(screen.width());
}

Duration shift_of(const ActionComparison& action) {
  return action.measured_end < action.predicted_end ? action.predicted_end - action.measured_end
                                                    : action.measured_end - action.predicted_end;
}

std::string largest_shifts(const Validation& v, Screen screen) {
  std::vector<const ActionComparison*> actions;
  actions.reserve(v.actions.size());
  for (const ActionComparison& action : v.actions) actions.push_back(&action);
  std::stable_sort(actions.begin(), actions.end(),
                   [](const auto* a, const auto* b) { return shift_of(*a) > shift_of(*b); });
  actions.resize(std::min(actions.size(), kLargest));
  TextTable table({{"rank"},
                   {"action", true},
                   {"predicted"},
                   {"to"},
                   {"measured", false, 4},
                   {"to"},
                   {"ends off by", false, 4}});
  for (const ActionComparison* action : actions) {
    table.add({std::to_string(action->rank), action->name, aligned(action->predicted_start),
               aligned(action->predicted_end), aligned(action->measured_start),
               aligned(action->measured_end), aligned(shift_of(*action))});
  }
  return "\nWhere the two lie farthest apart\n" + table.text(screen.width());
}

std::string memory_table(const Validation& v, Screen screen) {
  TextTable table({{"rank"}, {"predicted"}, {"allocated"}, {"error"}, {"reserved"}});
  for (const MemoryComparison& rank : v.memory) {
    const double error = rank.allocated && rank.allocated->count > 0
                             ? static_cast<double>(rank.predicted.count) /
                                       static_cast<double>(rank.allocated->count) -
                                   1.0
                             : 0.0;
    table.add({rank.rank < 0 ? "fullest" : std::to_string(rank.rank), gib(rank.predicted),
               rank.allocated ? gib(*rank.allocated) : "-",
               rank.allocated ? signed_percent(error) : "-", gib(rank.reserved)});
  }
  return "\nMemory, GiB (predicted without the device's reserve; reserved: with what the allocator "
         "keeps free)\n" +
         table.text(screen.width());
}

Json nanoseconds(Duration duration) { return std::int64_t{duration.count()}; }

Json to_json(const KindComparison& kind) {
  return Json::object()
      .set("kind", std::string(name_of(kind.kind)))
      .set("stage", kind.stage)
      .set("count", kind.count)
      .set("predicted_ns", nanoseconds(kind.predicted))
      .set("measured_ns", nanoseconds(kind.measured))
      .set("fastest_ns", nanoseconds(kind.fastest))
      .set("slowest_ns", nanoseconds(kind.slowest));
}

Json to_json(const RankComparison& rank) {
  return Json::object()
      .set("rank", rank.rank)
      .set("predicted_busy_ns", nanoseconds(rank.predicted_busy))
      .set("measured_busy_ns", nanoseconds(rank.measured_busy))
      .set("predicted_end_ns", nanoseconds(rank.predicted_end))
      .set("measured_end_ns", nanoseconds(rank.measured_end));
}

Json to_json(const SectionComparison& section) {
  return Json::object()
      .set("kind", std::string(name_of(section.kind)))
      .set("count", section.count)
      .set("measured_ns", nanoseconds(section.measured))
      .set("fastest_ns", nanoseconds(section.fastest))
      .set("slowest_ns", nanoseconds(section.slowest));
}

Json to_json(const MemoryComparison& rank) {
  return Json::object()
      .set("rank", rank.rank < 0 ? Json() : Json(rank.rank))
      .set("predicted_bytes", rank.predicted.count)
      .set("allocated_bytes", rank.allocated ? Json(rank.allocated->count) : Json())
      .set("reserved_bytes", rank.reserved.count);
}

Json to_json(const ActionComparison& action) {
  return Json::object()
      .set("rank", action.rank)
      .set("action", action.name)
      .set("predicted_start_ns", nanoseconds(action.predicted_start))
      .set("predicted_end_ns", nanoseconds(action.predicted_end))
      .set("measured_start_ns", nanoseconds(action.measured_start))
      .set("measured_end_ns", nanoseconds(action.measured_end));
}

template <class Value>
Json to_array(const std::vector<Value>& values) {
  Json json = Json::array();
  for (const Value& value : values) json.push(to_json(value));
  return json;
}

}  // namespace

std::string validation_report(const Validation& validation, const RunHeader& run, Screen screen) {
  std::string out = step_lines(validation, run) + verdict(validation);
  if (!validation.memory.empty()) out += memory_table(validation, screen);
  if (validation.traced_steps == 0) {
    const std::string remedy =
        is_own_run(run) ? "train with --timeline" : "record traces of PyTorch's profiler";
    return out + "\nThe run holds no times of single actions: " + remedy + " to compare them.\n";
  }
  return out + kind_table(validation, screen) + section_table(validation, screen) +
         rank_table(validation, screen) + largest_shifts(validation, screen);
}

void set_validation(Json& json, const Validation& v) {
  json.set("predicted_step_time_ns", nanoseconds(v.predicted))
      .set("measured_step_time_ns", nanoseconds(v.measured))
      .set("measured_spread_ns", nanoseconds(v.measured_spread))
      .set("fastest_ns", nanoseconds(v.fastest))
      .set("slowest_ns", nanoseconds(v.slowest))
      .set("steps", v.steps)
      .set("warm_up_steps", v.skipped)
      .set("steps_per_mean", v.steps_per_mean)
      .set("memory", to_array(v.memory))
      .set("traced_steps", v.traced_steps)
      .set("error", v.error)
      .set("tolerance", v.tolerance)
      .set("holds", v.holds())
      .set("kinds", to_array(v.kinds))
      .set("ranks", to_array(v.ranks))
      .set("actions", to_array(v.actions));
  if (!v.sections.empty()) json.set("sections", to_array(v.sections));
}

}  // namespace penstock
