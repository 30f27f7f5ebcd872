// Settings as they stand in other tools' files and command lines, as the pairs that belong here.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// {"tp": 8, "pp": 4}, "--tensor-model-parallel-size 8 --pp 4" and "tp: 8, pp: 4" are "TP=8,PP=4";
// empty where a key is no word of the field or a value is no number.
std::string pasted_pairs(std::string_view text);

// "why not tensor parallel 8 and PP=4?" as "TP=8,PP=4": what a sentence asks for, pairs as they
// stand included; nothing where one of its numbers would be lost.
std::string pairs_in_prose(std::string_view text);
// "TP=2" of "why is tensor parallelism not used": the first degree that is named.
std::string degree_in_prose(std::string_view text);

// Whether all keys are degrees, as --pin takes them.
bool can_be_pinned(std::string_view pairs);
// "schedule=1f1b,TP=8" as options, "--schedule 1f1b --pin TP=8": what --pin does not take has one
// of its own.
std::string pairs_as_options(std::string_view pairs);

}  // namespace penstock
