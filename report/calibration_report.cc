#include "report/calibration_report.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/measures.h"
#include "report/result_json.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr const char* kTermNotes =
    "not identifiable: runs that are left out are predicted no better with it; it stays neutral.\n"
    "reduction: fitted to the times of reductions, not to step times.\n";
constexpr const char* kRunNotes =
    "left out: predicted by a fit to all other runs; GiB and reduction: measured / predicted.\n";

struct Errors {
  ErrorSummary uncalibrated, in_sample, left_out;
};

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

std::string term_table(const std::vector<FittedTerm>& terms) {
  TextTable table({{"term", true}, {"value"}, {"", true}});
  for (const FittedTerm& term : terms) {
    table.add({term.name, value_text(term), state_text(term)});
  }
  return table.text();
}

std::string of_both(const std::string& measured, const std::string& predicted) {
  return measured + " / " + predicted;
}

std::string run_table(const std::vector<RunFit>& runs) {
  TextTable table({{"run", true},
                   {"T"},
                   {"P", false, 1},
                   {"D", false, 1},
                   {"b", false, 1},
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
  return table.text();
}

std::string error_table(const Errors& errors) {
  TextTable table({{"error", true}, {"median"}, {"root mean square"}, {"largest"}});
  const auto add = [&table](const char* name, const ErrorSummary& summary) {
    table.add({name, percent(summary.median), percent(summary.root_mean_square),
               percent(summary.largest)});
  };
  add("not calibrated", errors.uncalibrated);
  add("in sample", errors.in_sample);
  add("left out", errors.left_out);
  return table.text();
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
      .set("runs", term.runs);
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
  }
  return json;
}

}  // namespace

std::string calibration_report(const CalibrationResult& result) {
  return term_table(result.terms) + kTermNotes + '\n' + run_table(result.runs) + kRunNotes + '\n' +
         error_table(errors_of(result.runs));
}

void set_calibration(Json& json, const CalibrationResult& result) {
  Json terms = Json::array(), runs = Json::array();
  for (const FittedTerm& term : result.terms) terms.push(term_json(term));
  for (const RunFit& run : result.runs) runs.push(run_json(run));
  const Errors errors = errors_of(result.runs);
  json.set("terms", std::move(terms));
  json.set("runs", std::move(runs));
  json.set("errors", Json::object()
                         .set("uncalibrated", to_json(errors.uncalibrated))
                         .set("in_sample", to_json(errors.in_sample))
                         .set("left_out", to_json(errors.left_out)));
}

}  // namespace penstock
