// Settings of the environment that people write among the arguments.
#pragma once

#include <string_view>

namespace penstock {

// "NCCL_DEBUG=INFO": a name in capitals with an underscore, and a value.
constexpr bool is_environment_setting(std::string_view word) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  return equals != std::string_view::npos && name.find('_') != std::string_view::npos &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
}

}  // namespace penstock
