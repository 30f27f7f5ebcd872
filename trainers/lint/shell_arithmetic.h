// $((A * B + 1)): whole numbers, + - * / %, parentheses, names. Private to this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

// Nothing for other operators, names without a number, division by zero, and results beyond
// 10^12.
std::optional<std::int64_t> shell_arithmetic(
    std::string_view text,
    const std::function<std::optional<std::int64_t>(const std::string&)>& value_of);

}  // namespace penstock
