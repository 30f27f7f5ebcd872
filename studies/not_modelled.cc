#include "studies/not_modelled.h"

#include <algorithm>

namespace penstock {
namespace {

// A measured profile says it in the names of its sections only, and knows of no ranks of experts.
bool has_whole_experts(const ModelProfile& profile) {
  const auto& types = profile.section_types;
  return std::any_of(types.begin(), types.end(), [](const SectionType& type) {
    return type.name.find("expert") != std::string::npos && type.expert_parameters == 0;
  });
}

}  // namespace

std::vector<std::string> not_modelled_here(const Question& question) {
  std::vector<std::string> texts;
  if (has_whole_experts(question.profile.value)) {
    texts.emplace_back("expert parallelism (here every TP group holds all experts of its layers)");
  }
  // Profiles measure whole sequences; estimates divide them.
  if (!question.estimated) texts.emplace_back("context parallelism");
  return texts;
}

}  // namespace penstock
