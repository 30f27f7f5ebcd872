// What people call options in other tools, and what that is here. Data only: option_readings.cc
// weighs which row is meant.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace penstock {

// Where a value goes: an option, and what stands before the value in it ("TP=" in --pin).
struct Target {
  std::string_view option, before;
};

// A degree or a size of the batch, by the key that field_words.h has for its names.
struct Degree {
  std::string_view key;
  std::array<Target, 4> targets;  // the first that the verb has
  std::string_view otherwise;     // said where it has none
};
std::span<const Degree> option_degrees();

// Other names for an option that takes a value.
struct OtherName {
  std::array<std::string_view, 14> typed;
  std::array<Target, 2> targets;  // the first that the verb has
};
std::span<const OtherName> other_option_names();

// Words that need more than another name. `of`: an option that a verb has to whom this is said;
// empty: to all. The first row that fits is said.
struct Remark {
  std::array<std::string_view, 14> typed;
  std::string_view help;
  std::string_view of{};
};
std::span<const Remark> option_remarks();

// A word that has a row in option_remarks(), for a part of a word that has none: "offload" for
// "optimizer-cpu-offload", "plot" for "gantt". Empty: no part says what it is about.
std::string_view word_for_parts(std::string_view word);

}  // namespace penstock
