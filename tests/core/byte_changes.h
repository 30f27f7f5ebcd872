// What every reader must survive: a file that was cut off or damaged anywhere.
#pragma once

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "core/values/error.h"

namespace penstock::testing {

// Calls `read` with every beginning of `text`, and with `text` after each of its bytes was replaced
// in turn. It must return, or refuse the input in the name of `file`.
template <class Read>
void cut_and_change_every_byte(std::string_view text, const std::string& file, const Read& read) {
  constexpr std::string_view kIntruders("\0\"-9]}e\xff", 8);
  const auto survives = [&](const std::string& damaged) {
    try {
      static_cast<void>(read(damaged));
    } catch (const Error& error) {
      REQUIRE(error.kind() == ErrorKind::kBadInput);
      REQUIRE(std::string_view(error.what()).starts_with(file + ":"));
    }
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    survives(std::string(text.substr(0, i)));
    std::string changed(text);
    changed[i] = kIntruders[i % kIntruders.size()];
    survives(changed);
  }
}

}  // namespace penstock::testing
