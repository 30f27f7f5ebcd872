// Sections of one type share their measurements. Medians and spreads go into the profile as they
// are; odd ones (medians that did not settle, a time that falls as the micro-batch grows) are told,
// not repaired.
#include "profiler/build_profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr const char* kSource = "run";

Timing timing_of(const SampleSummary& summary) {
  return {.median = summary.median, .spread = summary.spread};
}

Measurement measurement_of(const SectionSamples& samples, const std::string& device) {
  Measurement row;
  row.device = device;
  row.micro_batch_size = samples.micro_batch_size;
  row.sequence_length = samples.sequence_length;
  row.decoder_length = samples.decoder_length;
  row.recompute = samples.recompute;
  row.forward = timing_of(samples.forward);
  row.fused_backward = timing_of(samples.fused_backward);
  if (samples.input_gradient.count > 0) {
    row.input_gradient = timing_of(samples.input_gradient);
    row.weight_gradient = timing_of(samples.weight_gradient);
  }
  if (samples.recompute_time.count > 0) row.recompute_time = timing_of(samples.recompute_time);
  row.count = std::max<std::int64_t>(samples.fused_backward.count, 1);
  row.stash = samples.memory.stash;
  row.weight_stash = samples.memory.weight_stash;
  row.working_peak = samples.memory.working_peak;
  row.boundary = samples.memory.boundary;
  return row;
}

bool is_same_key(const Measurement& a, const Measurement& b) {
  return a.micro_batch_size == b.micro_batch_size && a.sequence_length == b.sequence_length &&
         a.decoder_length == b.decoder_length && a.recompute == b.recompute;
}

class ProfileBuilder {
 public:
  explicit ProfileBuilder(const MeasuredModel& model) : model_(model) {}

  ModelProfile build() {
    profile_.name = model_.name;
    profile_.description = model_.description;
    profile_.sources = {
        {.id = kSource, .origin = Origin::kMeasured, .text = model_.provenance, .licence = ""}};
    profile_.training =
        training_state_of(model_.description.precision, model_.description.optimizer);
    profile_.training.optimizer_ps_per_parameter = per_parameter(&ChainSamples::optimizer);
    profile_.training.norm_ps_per_parameter = per_parameter(&ChainSamples::norm).value_or(0);
    for (const SectionOutline& section : model_.outline.sections) add_section(section);
    for (const TieOutline& tie : model_.outline.ties) add_tie(tie);
    for (const ChainSamples& chain : model_.chains) add_rows(chain);
    return std::move(profile_);
  }

 private:
  void add_section(const SectionOutline& section) {
    const auto [entry, is_new] =
        types_.try_emplace(section.type, static_cast<int>(profile_.section_types.size()));
    if (is_new) {
      SectionType& type = profile_.section_types.emplace_back();
      type.name = section.type;
      type.parameters = {{.tensor_degree = 1, .count = section.parameter_count()}};
      type.fixed = {section.frozen_count() * profile_.training.bytes_per_parameter.count +
                    section.buffer_bytes()};
    }
    profile_.sections.push_back({.name = section.name, .type = entry->second});
  }

  void add_tie(const TieOutline& outline) {
    TiedWeights tie;
    tie.name = outline.name;
    tie.sections.reserve(outline.sections.size());
    for (const int section : outline.sections) tie.sections.emplace_back(section);
    tie.parameters = {{.tensor_degree = 1, .count = model_.outline.tied_parameter_count(outline)}};
    profile_.tied_weights.push_back(std::move(tie));
  }

  void add_rows(const ChainSamples& chain) {
    for (const SectionSamples& samples : chain.sections) {
      const auto type = types_.find(samples.type);
      if (type == types_.end()) {
        throw Error(ErrorKind::kInternal,
                    "samples of a section type that the model lacks: " + samples.type);
      }
      std::vector<Measurement>& rows =
          profile_.section_types[static_cast<std::size_t>(type->second)].measurements;
      Measurement row = measurement_of(samples, model_.device);
      // An encoder was measured with every length of the decoder, which it does not know: the first
      // counts.
      const bool is_known = std::ranges::any_of(
          rows, [&](const Measurement& other) { return is_same_key(other, row); });
      if (!is_known) rows.push_back(std::move(row));
    }
  }

  // In picoseconds, rounded up: the median over the chains that were run.
  [[nodiscard]] std::optional<std::int64_t> per_parameter(SampleSummary ChainSamples::*what) const {
    if (model_.chain_parameters <= 0) return std::nullopt;
    std::vector<Duration> times;
    times.reserve(model_.chains.size());
    for (const ChainSamples& chain : model_.chains) {
      const SampleSummary& summary = chain.*what;
      if (summary.count > 0) times.push_back(summary.median);
    }
    if (times.empty()) return std::nullopt;
    const std::int64_t picoseconds = summarize(times).median.count() * 1000;
    return (picoseconds + model_.chain_parameters - 1) / model_.chain_parameters;
  }

  const MeasuredModel& model_;
  ModelProfile profile_;
  std::map<std::string, int> types_;
};

struct TimedPart {
  const char* name;
  SampleSummary SectionSamples::*summary;
};
constexpr std::array<TimedPart, 5> kParts{{
    {"F", &SectionSamples::forward},
    {"I", &SectionSamples::input_gradient},
    {"W", &SectionSamples::weight_gradient},
    {"B", &SectionSamples::fused_backward},
    {"R", &SectionSamples::recompute_time},
}};

std::string size_text(const SectionSamples& row) {
  return "b = " + std::to_string(row.micro_batch_size);
}

std::string percent_text(double share) {
  const auto tenths = std::llround(share * 1000.0);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

// By more than the two are known to.
bool clearly_longer(const SampleSummary& a, const SampleSummary& b) {
  const auto longer = static_cast<double>(a.median.count());
  const auto shorter = static_cast<double>(b.median.count());
  return longer * (1.0 - a.error) > shorter * (1.0 + b.error);
}

// One sentence on the median of a chain that is known least well; empty when all are known to
// `error`.
std::string unsettled(const ChainSamples& chain, double error) {
  const SectionSamples* worst_row = nullptr;
  const TimedPart* worst_part = nullptr;
  double worst = error;
  for (const SectionSamples& row : chain.sections) {
    for (const TimedPart& part : kParts) {
      const SampleSummary& summary = row.*(part.summary);
      if (summary.count == 0 || summary.error <= worst) continue;
      worst = summary.error;
      worst_row = &row;
      worst_part = &part;
    }
  }
  if (worst_row == nullptr) return "";
  return size_text(*worst_row) + ", recompute " + worst_row->recompute +
         ": not all medians are known well, " + worst_part->name + " of " + worst_row->type +
         " to " + percent_text(worst) + " only, after " +
         std::to_string((worst_row->*(worst_part->summary)).count) + " samples";
}

}  // namespace

ModelProfile build_profile(const MeasuredModel& model) { return ProfileBuilder(model).build(); }

TrainingState training_state_of(Precision precision, OptimizerKind optimizer) {
  const bool half = precision == Precision::kBFloat16 || precision == Precision::kFloat16;
  const std::int64_t bytes = half ? 2 : precision == Precision::kFloat64 ? 8 : 4;
  const std::int64_t full = half ? 4 : bytes;
  const std::int64_t moments = optimizer == OptimizerKind::kAdamW ? 2 : 0;
  TrainingState state;
  state.bytes_per_parameter = {bytes};
  state.bytes_per_gradient = {full};
  state.optimizer_bytes_per_parameter = {(half ? full : 0) + moments * full};
  return state;
}

std::vector<std::string> odd_times(const std::vector<ChainSamples>& chains, double error) {
  std::vector<std::string> notes;
  std::map<std::tuple<std::string, std::string, int, int>, std::vector<const SectionSamples*>>
      series;
  for (const ChainSamples& chain : chains) {
    if (std::string note = unsettled(chain, error); !note.empty()) notes.push_back(std::move(note));
    for (const SectionSamples& row : chain.sections) {
      series[{row.type, row.recompute, row.sequence_length, row.decoder_length}].push_back(&row);
    }
  }
  for (auto& [key, rows] : series) {
    std::ranges::sort(rows, {}, &SectionSamples::micro_batch_size);
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      for (const TimedPart& part : kParts) {
        const SampleSummary& less = rows[i]->*(part.summary);
        const SampleSummary& more = rows[i + 1]->*(part.summary);
        if (less.count == 0 || more.count == 0 || !clearly_longer(less, more)) continue;
        notes.push_back(rows[i]->type + ", recompute " + rows[i]->recompute + ": " + part.name +
                        " takes " + to_text(less.median) + " at " + size_text(*rows[i]) + " but " +
                        to_text(more.median) + " at " + size_text(*rows[i + 1]) +
                        "; prices take the smaller one for both");
      }
    }
  }
  return notes;
}

}  // namespace penstock
