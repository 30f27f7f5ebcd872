// What went wrong, for tests of messages.
#pragma once

#include <string>

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

}  // namespace penstock::tests
