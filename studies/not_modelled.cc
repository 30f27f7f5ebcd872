#include "studies/not_modelled.h"

#include <algorithm>

#include "search/divided_sequences.h"

namespace penstock {
namespace {

// A measured profile says it in the names of its sections only, and knows of no ranks of experts.
bool has_whole_experts(const ModelProfile& profile) {
  const auto& types = profile.section_types;
  return std::any_of(types.begin(), types.end(), [](const SectionType& type) {
    return type.name.find("expert") != std::string::npos && type.expert_parameters == 0;
  });
}

int longest_sequence(const Question& question) {
  int longest = question.request.sequence_length;
  if (longest > 0) return longest;
  for (const SectionType& type : question.profile.value.section_types) {
    for (const Measurement& row : type.measurements) {
      longest = std::max(longest, row.sequence_length);
    }
  }
  return longest;
}

// What the reader of a config.json left out, with the reason behind a colon; fields that it only
// does not know have none, and may mean nothing.
void add_left_out(const Architecture& model, std::vector<std::string>& texts) {
  for (const std::string& left_out : model.not_read) {
    const std::size_t reason = left_out.find(": ");
    if (reason != std::string::npos) texts.push_back(left_out.substr(0, reason));
  }
}

void add_of_estimate(const EstimatedModel& estimated, std::vector<std::string>& texts) {
  const Architecture& model = estimated.model;
  add_left_out(model, texts);
  if (model.experts && estimated.request.expert_imbalance <= 1.0) {
    texts.emplace_back("experts that get more tokens than others (--expert-imbalance)");
  }
  if (model.windowed_layers > 0 && model.windowed_layers < model.layers) {
    texts.emplace_back(
        "which layers have the attention window (all are given the mean of windowed and whole "
        "ones)");
  }
}

}  // namespace

std::vector<std::string> not_modelled_here(const Question& question) {
  std::vector<std::string> texts;
  if (has_whole_experts(question.profile.value)) {
    texts.emplace_back("expert parallelism (here every TP group holds all experts of its layers)");
  }
  if (question.estimated) {
    add_of_estimate(*question.estimated, texts);
  } else if (longest_sequence(question) >= kHalvedSequence) {
    // Profiles measure whole sequences; estimates divide them.
    texts.emplace_back("context parallelism");
  }
  return texts;
}

}  // namespace penstock
