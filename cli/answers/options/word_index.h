// Which options of a verb are meant by a word that no verb has. The index is what the verb declares
// of each option, its names, value and help; a thesaurus says which words mean the same. So an
// option that is added is found by its help, and nobody lists what people may type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options/option_table.h"

namespace penstock {

// "--trainer.numNodes" -> "trainer", "node": lower case, in the singular, without what trainers put
// around a word (num, size, degree).
std::vector<std::string> content_words(std::string_view typed);

class WordIndex {
 public:
  WordIndex() = default;
  explicit WordIndex(OptionTable table);

  [[nodiscard]] const std::vector<OptionRow>& rows() const { return table_.rows; }
  [[nodiscard]] const std::string& usage() const { return table_.usage; }  // "plan MODEL ..."
  // Whether an option of that name takes a value, as "--cluster" in "--cluster --gpus 8".
  [[nodiscard]] bool takes_value(std::string_view option) const;
  // The option whose name has the same words, or words that mean the same; null unless it is one.
  [[nodiscard]] const OptionRow* same_words(std::string_view typed) const;
  [[nodiscard]] const OptionRow* same_meaning(std::string_view typed) const;
  // What the argument of the same name says of itself: "MODEL is the argument without a name"; or
  // empty.
  [[nodiscard]] std::string help_for_argument(std::string_view typed) const;
  // Those that share enough with it, best first: of a word of the name more than of one of the
  // help.
  [[nodiscard]] std::vector<const OptionRow*> about(std::string_view typed) const;

 private:
  struct Entry {
    std::vector<std::string> plain, name, help;  // words as they are; as the thesaurus has them
  };
  [[nodiscard]] double weight_of(const std::string& word) const;

  OptionTable table_;
  std::vector<Entry> entries_;
};

// "--transport NAME: gloo: processes, on CPUs (default)": what to write, and what it is.
// With the value that was typed, where one was.
std::string option_shown(const OptionRow& row, const std::string& typed = "");
// "write --start {TIME}" with the value that was typed, where one was, and else "TIME".
std::string with_value(std::string help, const std::string& typed);

}  // namespace penstock
