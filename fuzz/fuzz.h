// What the targets share. A target reads what libFuzzer made up: either the reader refuses it with
// a letter to a person, or it is worth something: written and read again it is the same value, and
// what the program goes on to do with it holds. Anything else aborts, which libFuzzer reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "core/values/error.h"
#include "core/values/json.h"

namespace penstock::fuzz {

inline constexpr const char* kFile = "input.json";

inline void require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

// An accepted text, from which others are made (mutate_json.cc).
void remember(std::string_view text);

// The value of `work`, or nothing when it refused with Error{kBadInput}. Every other exception ends
// the run: kInternal would be our own bug.
template <class Work>
auto unless_refused(const Work& work) -> std::optional<decltype(work())> {
  try {
    return work();
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kBadInput, error.what());
    return std::nullopt;
  }
}

// What `read` makes of the text, if anything. A refusal names the file first.
template <class Read>
auto accepted(const std::string& text, const Read& read) -> std::optional<decltype(read(text))> {
  try {
    return read(text);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kBadInput, error.what());
    require(std::string_view(error.what()).starts_with(kFile), error.what());
    return std::nullopt;
  }
}

// The same for a value that can be written: writing and reading change nothing.
template <class Read, class Write>
auto accepted_and_kept(const std::uint8_t* data, std::size_t size, const Read& read,
                       const Write& write) {
  const auto read_text = [&read](const std::string& text) { return read(parse_json(text, kFile)); };
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto value = accepted(text, read_text);
  if (value) {
    remember(text);
    const std::string written = to_text(write(*value));
    require(read_text(written) == *value, "written and read again it is another value");
  }
  return value;
}

}  // namespace penstock::fuzz
