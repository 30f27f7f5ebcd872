// What went wrong, for tests of messages.
#pragma once

#include <string>

#include <doctest/doctest.h>

#include "core/values/error.h"

namespace penstock::tests {

// The message of the Error that `call` throws; empty when it throws none.
template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The same of bad input; another kind of Error fails the test.
template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadInput);
    return error.what();
  }
  return "";
}

}  // namespace penstock::tests
