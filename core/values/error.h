// What stops a request. An Error is a letter to a person: the file, the place in it, the value that
// was found, and what to do about it. "Does not fit" is not an Error but a value (see
// core/values/evaluation.h). Only main() catches.
#pragma once

#include <stdexcept>
#include <string>

namespace penstock {

enum class ErrorKind {
  kBadInput,         // a malformed file or argument: exit code 2
  kMissingResource,  // no such file, no GPU, a part that was not built: exit code 3
  kInternal,         // our bug: exit code 70
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

[[noreturn]] inline void throw_bad_input(const std::string& message) {
  throw Error(ErrorKind::kBadInput, message);
}

}  // namespace penstock
