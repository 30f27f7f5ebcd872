// The options of a command line with their values, in whatever form they were typed: what looks for
// a value that belongs elsewhere takes them apart with this, and puts the command together again.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/io/answer.h"
#include "cli/options/option_table.h"

namespace penstock {

struct GivenOption {
  std::string name, value;     // the value is empty where none was typed
  std::size_t begin = 0, end;  // its words are [begin, end)
};

struct GivenWords {
  std::vector<GivenOption> options;
  Arguments bare;  // words without an option; what stands behind "--" is not read
};
// A word behind an option of the table that takes none is bare, and behind an unknown option it is
// a value.
GivenWords given_words(const OptionTable& table, const Arguments& words);

// The value of the first of these options that stands among the words with one, as "--gpus 128" or
// "--gpus=128".
std::optional<std::string> value_of(const Arguments& words,
                                    std::initializer_list<std::string_view> options);

// The words with others in the place of the option and its value.
Arguments with_instead(Arguments words, const GivenOption& option, const Arguments& instead);

// The words without these options and their values, which stand in their order.
Arguments without(Arguments words, const std::vector<GivenOption>& options);

// What is asked of the answer, and no part of the question: a file that one verb writes is not what
// another one should write over, and jobs of one verb are the threads of another.
bool is_about_answer(std::string_view option);

// The row of the table that has the name, or null.
const OptionRow* row_named(const OptionTable& table, std::string_view name);

// "plan" of "plan MODEL [OPTIONS]".
std::string verb_of(const OptionTable& table);

}  // namespace penstock
