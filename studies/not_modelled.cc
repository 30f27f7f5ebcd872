#include "studies/not_modelled.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr int kLongSequence = 32768;  // from here on trainers divide sequences over ranks

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
  const bool is_long = question.request.sequence_length >= kLongSequence;
  if (is_long) {
    texts.emplace_back("context parallelism (here every rank holds whole sequences)");
  }
  texts.emplace_back("ZeRO-2 and ZeRO-3 (FSDP)");
  if (!is_long) texts.emplace_back("context parallelism");
  for (const std::string& text : result.not_searched) {
    if (!text.starts_with("numbers of replicas but")) continue;
    texts.emplace_back(
        "values of DP that were not searched, as there are too many (--pin DP=N searches one)");
  }
  return texts;
}

}  // namespace penstock
