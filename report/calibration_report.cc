// Every table is made from one CalibrationResult, and its errors are worked out here from the runs,
// so that text and JSON cannot disagree. Errors are given with a run in the fit, left out of it,
// and without any fit: the one left out is what to expect of a plan that nobody has run. A factor
// far from 1 is said to be suspicious, since it makes up for something that is wrong elsewhere.
#include "report/calibration_report.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/measures.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr const char* kTermNotes =
    "+-: one standard deviation, by the runs and by what is likely without them; intervals follow "
    "it.\n"
    "not identifiable: runs that are left out are predicted no better with it; it stays neutral.\n"
    "reduction: fitted to the times of reductions, not to step times.\n";
constexpr const char* kRunNotes =
    "left out: predicted by a fit to all other runs; GiB and reduction: measured / predicted.\n";

struct Errors {
  ErrorSummary uncalibrated, in_sample, left_out;
};

// Of measured peaks of memory; nothing where there is none.
std::optional<Errors> memory_errors_of(const std::vector<RunFit>& runs) {
  std::vector<double> uncalibrated, in_sample, left_out;
  for (const RunFit& run : runs) {
    if (!run.measured_memory || run.measured_memory->count == 0) continue;
    const auto measured = static_cast<double>(run.measured_memory->count);
    const auto error = [&](Bytes predicted) {
      return static_cast<double>(predicted.count) / measured - 1.0;
    };
    uncalibrated.push_back(error(run.uncalibrated_memory));
    in_sample.push_back(error(run.predicted_memory));
    left_out.push_back(error(run.left_out_memory));
  }
  if (uncalibrated.empty()) return {};
  return Errors{summarize_errors(std::move(uncalibrated)), summarize_errors(std::move(in_sample)),
                summarize_errors(std::move(left_out))};
}

Errors errors_of(const std::vector<RunFit>& runs) {
  std::vector<double> uncalibrated, in_sample, left_out;
  for (const RunFit& run : runs) {
    uncalibrated.push_back(relative_error(run.uncalibrated, run.measured));
    in_sample.push_back(relative_error(run.predicted, run.measured));
    left_out.push_back(relative_error(run.left_out, run.measured));
  }
  return {summarize_errors(std::move(uncalibrated)), summarize_errors(std::move(in_sample)),
          summarize_errors(std::move(left_out))};
}

std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100.0 * share); }

std::string value_text(const FittedTerm& term) {
  switch (term.unit) {
    case TermUnit::kFactor:
      return fmt::format("x {}", fixed(term.value, 4));
    case TermUnit::kNanoseconds:
      return to_text(round_up_to_ns(term.value * 1e-9));
    case TermUnit::kPicosecondsPerByte:
      return fixed(term.value, 3) + " ps/B";
  }
  return "";
}

std::string deviation_text(const FittedTerm& term) {
  if (term.deviation <= 0.0) return "-";
  return term.unit == TermUnit::kFactor ? fixed(term.deviation, 3)
                                        : to_text(round_up_to_ns(term.deviation * 1e-9));
}

std::string state_text(const FittedTerm& term) {
  switch (term.state) {
    case TermState::kFitted:
      return "fitted to " + count_of(term.runs, "run");
    case TermState::kNoEffect:
      return "not identifiable: no run depends on it";
    case TermState::kNotIdentified:
      return "not identifiable from " + count_of(term.runs, "run");
  }
  return "";
}

const char* state_word(TermState state) {
  switch (state) {
    case TermState::kFitted:
      return "fitted";
    case TermState::kNoEffect:
      return "no_effect";
    case TermState::kNotIdentified:
      return "not_identified";
  }
  return "";
}

const char* unit_word(TermUnit unit) {
  switch (unit) {
    case TermUnit::kFactor:
      return "factor";
    case TermUnit::kNanoseconds:
      return "ns";
    case TermUnit::kPicosecondsPerByte:
      return "ps_per_byte";
  }
  return "";
}

std::string term_table(const std::vector<FittedTerm>& terms, Screen screen) {
  TextTable table({{"term", true}, {"value"}, {"+-"}, {"", true}});
  for (const FittedTerm& term : terms) {
    table.add({term.name, value_text(term), deviation_text(term), state_text(term)});
  }
  return table.text(screen.width());
}

// A factor far from 1 mends something that is wrong elsewhere.
std::string suspicions(const std::vector<FittedTerm>& terms, Screen screen) {
  std::string text;
  for (const FittedTerm& term : terms) {
    if (!term.is_suspicious()) continue;
    text += wrapped(
        fmt::format("suspicious: {} x {} lies outside 0.8 to 1.25. Look whether the profile is of "
                    "this device, precision, T and recompute mode, whether runs and plans name the "
                    "same batch and schedule, and whether the executor is the right one.",
                    term.name, fixed(term.value, 3)),
        screen.width(), "", "  ");
  }
  return text;
}

std::string memory_text(const CalibrationResult& result, const std::optional<Errors>& errors) {
  if (!errors) return "";
  const MemoryFactors& memory = result.calibration.memory;
  return fmt::format("\nmemory: {:+d} bytes per parameter, activations x {}, reserve {} GiB\n",
                     memory.bytes_per_parameter, fixed(memory.activations, 3),
                     memory.reserve ? gib(*memory.reserve) : "as it was");
}

std::string of_both(const std::string& measured, const std::string& predicted) {
  return measured + " / " + predicted;
}

std::string run_table(const std::vector<RunFit>& runs, Screen screen) {
  TextTable table({{"run", true},
                   {"TP"},
                   {"PP", false, 1},
                   {"DP", false, 1},
                   {"mbs", false, 1},
                   {"M", false, 1},
                   {"measured"},
                   {"predicted"},
                   {"error"},
                   {"left out"},
                   {"GiB"},
                   {"reduction"}});
  for (const RunFit& run : runs) {
    const Plan& plan = run.plan;
    const std::string memory =
        run.measured_memory ? of_both(gib(*run.measured_memory), gib(run.predicted_memory)) : "-";
    const std::string reduction =
        run.measured_reduction
            ? of_both(to_text(*run.measured_reduction), to_text(*run.predicted_reduction))
            : "-";
    table.add({run.name, fmt::format("{}", plan.tensor), fmt::format("{}", plan.pipeline),
               fmt::format("{}", plan.data), fmt::format("{}", plan.micro_batch_size),
               fmt::format("{}", micro_batches_of(plan)), aligned(run.measured),
               aligned(run.predicted), signed_percent(relative_error(run.predicted, run.measured)),
               signed_percent(relative_error(run.left_out, run.measured)), memory, reduction});
  }
  return table.text(screen.width());
}

std::string error_table(const Errors& errors, const char* what, Screen screen) {
  TextTable table({{what, true}, {"median"}, {"root mean square"}, {"largest"}});
  const auto add = [&table](const char* name, const ErrorSummary& summary) {
    table.add({name, percent(summary.median), percent(summary.root_mean_square),
               percent(summary.largest)});
  };
  add("not calibrated", errors.uncalibrated);
  add("in sample", errors.in_sample);
  add("left out", errors.left_out);
  return table.text(screen.width());
}

Json to_json(const ErrorSummary& summary) {
  return Json::object()
      .set("median", summary.median)
      .set("root_mean_square", summary.root_mean_square)
      .set("largest", summary.largest);
}

Json term_json(const FittedTerm& term) {
  return Json::object()
      .set("name", term.name)
      .set("unit", unit_word(term.unit))
      .set("value", term.value)
      .set("state", state_word(term.state))
      .set("runs", term.runs)
      .set("deviation", term.deviation)
      .set("suspicious", term.is_suspicious());
}

Json run_json(const RunFit& run) {
  const auto ns = [](Duration duration) { return std::int64_t{duration.count()}; };
  Json json = Json::object();
  json.set("name", run.name);
  json.set("plan", to_json(run.plan));
  json.set("measured_ns", ns(run.measured));
  json.set("predicted_ns", ns(run.predicted));
  json.set("left_out_ns", ns(run.left_out));
  json.set("uncalibrated_ns", ns(run.uncalibrated));
  json.set("error", relative_error(run.predicted, run.measured));
  json.set("left_out_error", relative_error(run.left_out, run.measured));
  if (run.measured_reduction) {
    json.set("measured_reduction_ns", ns(*run.measured_reduction));
    json.set("predicted_reduction_ns", ns(*run.predicted_reduction));
  }
  if (run.measured_memory) {
    json.set("measured_memory_bytes", run.measured_memory->count);
    json.set("predicted_memory_bytes", run.predicted_memory.count);
    json.set("left_out_memory_bytes", run.left_out_memory.count);
    json.set("uncalibrated_memory_bytes", run.uncalibrated_memory.count);
  }
  return json;
}

}  // namespace

std::string calibration_report(const CalibrationResult& result, Screen screen) {
  const std::optional<Errors> memory = memory_errors_of(result.runs);
  std::string text = term_table(result.terms, screen) + kTermNotes +
                     suspicions(result.terms, screen) + memory_text(result, memory) + '\n' +
                     run_table(result.runs, screen) + kRunNotes + '\n' +
                     error_table(errors_of(result.runs), "step time", screen);
  if (memory) text += '\n' + error_table(*memory, "memory", screen);
  return text;
}

void set_calibration(Json& json, const CalibrationResult& result) {
  Json terms = Json::array(), runs = Json::array();
  for (const FittedTerm& term : result.terms) terms.push(term_json(term));
  for (const RunFit& run : result.runs) runs.push(run_json(run));
  const auto errors_json = [](const Errors& errors) {
    return Json::object()
        .set("uncalibrated", to_json(errors.uncalibrated))
        .set("in_sample", to_json(errors.in_sample))
        .set("left_out", to_json(errors.left_out));
  };
  json.set("terms", std::move(terms));
  json.set("runs", std::move(runs));
  json.set("errors", errors_json(errors_of(result.runs)));
  if (const auto memory = memory_errors_of(result.runs)) {
    const MemoryFactors& factors = result.calibration.memory;
    Json fitted = Json::object();
    fitted.set("bytes_per_parameter", factors.bytes_per_parameter)
        .set("activations", factors.activations);
    if (factors.reserve) fitted.set("reserve_bytes", factors.reserve->count);
    json.set("memory", std::move(fitted));
    json.set("memory_errors", errors_json(*memory));
  }
  if (result.calibration.posterior) {
    json.set("run_to_run", result.calibration.posterior->run_to_run);
  }
}

}  // namespace penstock
