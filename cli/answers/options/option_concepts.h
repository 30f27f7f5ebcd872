// What an unknown option is about, where nothing nearer is known of it: the words of its name are
// looked up among the concepts that the program knows, and the answer is what the verb has for it,
// which verb has it, or why there is nothing of the kind. Rows go by single words in the singular;
// those of option_remarks.h by whole names, and are read first.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/answers/options/word_index.h"

namespace penstock {

struct ConceptMeant {
  std::string help;
  bool is_whole;  // every word of the name says so, and not a part of it
};
std::optional<ConceptMeant> concept_meant(std::string_view typed, const std::string& value,
                                          const WordIndex& index);

// "There is no such option", with what the verb has options for: by its headings in the help.
std::string options_by_heading(const WordIndex& index);

}  // namespace penstock
