#include "studies/not_modelled.h"

#include <algorithm>

namespace penstock {
namespace {

// A measured profile says it in the names of its sections only.
bool has_experts(const Question& question) {
  if (question.estimated) return question.estimated->model.experts.has_value();
  const auto& types = question.profile.value.section_types;
  return std::any_of(types.begin(), types.end(), [](const SectionType& type) {
    return type.name.find("expert") != std::string::npos;
  });
}

}  // namespace

std::vector<std::string> not_modelled_here(const Question& question, const SearchResult& result) {
  std::vector<std::string> texts;
  if (has_experts(question)) {
    texts.emplace_back("expert parallelism (here every TP group holds all experts of its layers)");
  }
  // Profiles measure whole sequences; estimates divide them.
  texts.emplace_back(question.estimated ? "matrix products in 8 bits (fp8)"
                                        : "context parallelism");
  for (const std::string& text : result.not_searched) {
    if (!text.starts_with("numbers of replicas but")) continue;
    texts.emplace_back(
        "values of DP that were not searched, as there are too many (--pin DP=N searches one)");
  }
  return texts;
}

}  // namespace penstock
