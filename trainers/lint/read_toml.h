// The part of TOML that trainers' configurations use: tables, dotted and quoted keys, strings,
// numbers, booleans, arrays over lines. Dates and arrays of tables are refused. Reading is a
// function of the text.
#pragma once

#include <string>
#include <string_view>

#include "core/values/json.h"
#include "trainers/lint/launch_setting.h"

namespace penstock {

// One setting per key, named by its path, "parallelism.pipeline_parallel_degree", with its line.
// Error{kBadInput}: "FILE:LINE: what is wrong" and a remedy; so is a key given twice.
LaunchSettings read_toml(std::string_view text, const std::string& file);

// The value at `at`, which is moved behind it; Python's True, False and None are taken, too, and so
// are its single quotes. `line` is moved along.
Json read_toml_value(std::string_view text, std::size_t& at, int& line, const std::string& file);

}  // namespace penstock
