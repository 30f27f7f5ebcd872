#include "profiler/trace_samples.h"

#include <map>
#include <utility>

namespace penstock {
namespace {

// Of every section that was run: its type, and the first section of that type.
class TypesOfSections {
 public:
  explicit TypesOfSections(const ChainToMeasure& chain) {
    std::map<std::string, int> firsts;
    for (std::size_t stage = 0; stage < chain.types.size(); ++stage) {
      const int section = chain.sections[stage];
      const int first = firsts.try_emplace(chain.types[stage], section).first->second;
      types_[section] = {first, chain.types[stage]};
    }
  }

  [[nodiscard]] ActivityTag first_of_type(ActivityTag tag) const {
    const auto found = types_.find(section_of(tag));
    if (!is_of_one_section(phase_of(tag)) || found == types_.end()) return tag;
    return activity_tag(found->second.first, phase_of(tag));
  }
  [[nodiscard]] std::string name(ActivityTag tag) const {
    const auto found = types_.find(section_of(tag));
    if (!is_of_one_section(phase_of(tag)) || found == types_.end()) return "";
    return found->second.second;
  }

 private:
  std::map<int, std::pair<int, std::string>> types_;
};

}  // namespace

TraceSamples summarize_trace(const ChainToMeasure& chain, const ActivityRecording& recording) {
  const Attribution attribution = attribute(recording);
  TraceSamples samples;
  samples.micro_batch_size = chain.micro_batch_size;
  samples.sequence_length = chain.sequence_length;
  samples.recompute = chain.recompute ? "full" : "none";
  samples.confirmed = attribution.confirmed;
  samples.without_external_id = attribution.without_external_id;
  samples.unattributed = attribution.unattributed_time;
  samples.tracer_overhead = attribution.tracer_overhead;
  samples.why_void = why_void(recording, attribution).value_or("");
  if (!samples.why_void.empty()) return samples;
  samples.sections = by_tag(recording, attribution);
  const TypesOfSections types(chain);
  ActivityRecording by_type;
  by_type.scopes = recording.scopes;
  for (ActivityScope& scope : by_type.scopes) scope.tag = types.first_of_type(scope.tag);
  samples.types = by_tag(by_type, attribution);
  samples.type_names.reserve(samples.types.size());
  for (const TagActivity& tag : samples.types) samples.type_names.push_back(types.name(tag.tag));
  return samples;
}

double tracing_overhead(const TraceSamples& samples) {
  const auto traced = static_cast<double>(samples.traced_step.median.count());
  const auto untraced = static_cast<double>(samples.untraced_step.median.count());
  return untraced > 0.0 ? traced / untraced - 1.0 : 0.0;
}

}  // namespace penstock
