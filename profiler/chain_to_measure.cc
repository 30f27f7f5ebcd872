#include "profiler/chain_to_measure.h"

#include <cstddef>
#include <map>
#include <utility>

#include "profiler/build_profile.h"

namespace penstock {

ChainToMeasure choose_sections(const ModelDescription& model, const ModelOutline& outline,
                               int most_of_a_type) {
  ChainToMeasure chain;
  chain.model = model;
  std::map<std::string, int> chosen;
  std::map<int, int> stage_of;  // by section
  for (std::size_t i = 0; i < outline.sections.size(); ++i) {
    const SectionOutline& section = outline.sections[i];
    if (chosen[section.type]++ >= most_of_a_type) continue;
    stage_of[static_cast<int>(i)] = chain.stages();
    chain.sections.push_back(static_cast<int>(i));
    chain.types.push_back(section.type);
    chain.parameters += section.parameter_count();
  }
  for (const TieOutline& tie : outline.ties) {
    TieSetup setup{.name = tie.name, .stages = {}};
    for (const int section : tie.sections) {
      if (const auto found = stage_of.find(section); found != stage_of.end()) {
        setup.stages.push_back(found->second);
      }
    }
    if (setup.stages.size() > 1) chain.ties.push_back(std::move(setup));
  }
  return chain;
}

ChainToMeasure choose_beyond(Bytes bytes, const ModelDescription& model,
                             const ModelOutline& outline, int of_a_type) {
  const TrainingState state = training_state_of(model.precision, model.optimizer);
  const std::int64_t per_parameter = (state.bytes_per_parameter + state.bytes_per_gradient).count;
  for (;; ++of_a_type) {
    ChainToMeasure chain = choose_sections(model, outline, of_a_type);
    const bool is_all = chain.sections.size() == outline.sections.size();
    if (is_all || chain.parameters * per_parameter >= bytes.count) return chain;
  }
}

Bytes state_bytes(const ChainToMeasure& chain) {
  const TrainingState state = training_state_of(chain.model.precision, chain.model.optimizer);
  const Bytes each =
      state.bytes_per_parameter + state.bytes_per_gradient + state.optimizer_bytes_per_parameter;
  return Bytes{chain.parameters * each.count};
}

RankSetup setup_of(const ChainToMeasure& chain) {
  RankSetup setup;
  setup.model = chain.model;
  const int stages = chain.stages();
  setup.stages.reserve(chain.sections.size());
  for (int stage = 0; stage < stages; ++stage) {
    const int section = chain.sections[static_cast<std::size_t>(stage)];
    setup.stages.push_back({.stage = stage,
                            .first_section = section,
                            .end_section = section + 1,
                            .takes_input = stage == 0,
                            .ends_in_loss = stage == stages - 1});
  }
  setup.ties = chain.ties;
  const int samples = chain.micro_batch_size;
  for (const int first : {0, samples}) {
    setup.micro_batches.push_back({.first_sample = first,
                                   .samples = samples,
                                   .tokens = chain.sequence_length,
                                   .decoder_tokens = chain.decoder_length});
  }
  setup.global_batch = 2 * samples;
  setup.sequence_length = chain.sequence_length;
  setup.recompute = chain.recompute;
  return setup;
}

}  // namespace penstock
