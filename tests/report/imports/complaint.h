// What a reader says of a file that it refuses, for the tests of importers.
#pragma once

#include <string>

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Empty when nothing is refused.
template <class Call>
std::string complaint(const Call& call) {
  return tests::refusal_of([&] { static_cast<void>(call()); });
}

}  // namespace penstock
