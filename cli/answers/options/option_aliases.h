// Options as people know them from other tools, in the words of the verb at hand: "--tp 8" is
// "--pin TP=8" for plan, "--layout TP=8" for predict. What has no option here gets a sentence.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/answers/options/word_index.h"
#include "cli/io/answer.h"

namespace penstock {

// What a verb itself has to say of options that people try: words without dashes, and what to do.
struct OptionRemark {
  std::vector<std::string> typed;
  std::string help;
};

// The arguments with every option that the verb does not have, but knows by another name, replaced
// by its own. `known`: the verb's options, "--gpus" and "-P". Error{kBadInput} with the remedy for
// those that have no equivalent ("--nodes", "--cp"), first by the verb's own `remarks`; what is no
// word of the field stays as it is. `index`: of the verb, made only when it is asked for.
Arguments in_own_options(const Arguments& arguments, const std::vector<std::string>& known,
                         const std::vector<OptionRemark>& remarks = {},
                         const std::function<const WordIndex&()>& index = {});

// "config.json, --gpus: 64, --gbs: 512" without what a list or a configuration left behind words.
Arguments without_stray_signs(Arguments arguments);

// Of one option with its value: what is written instead of it, or, where nothing is, what to do.
struct MeantOption {
  Arguments words;   // as they were typed when nothing is known of it
  std::string help;  // or empty
};
MeantOption meant_option(const std::string& name, const std::string& value,
                         const std::vector<std::string>& known,
                         const std::vector<OptionRemark>& remarks = {},
                         const std::function<const WordIndex&()>& index = {});

// What to do about a word of which only a part says what it is about ("optimizer-cpu-offload"), for
// a verb with these options; empty where there is nothing to say.
std::string help_by_parts(std::string_view word, const std::vector<std::string>& known);

// Error{kBadInput} of an option that the verb does not have.
[[noreturn]] void refuse_option(const std::string& name, const std::string& help);

}  // namespace penstock
