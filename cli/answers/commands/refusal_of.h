// What a command would be told, without carrying it out.
#pragma once

#include <optional>
#include <string>

#include "cli/io/answer.h"

namespace penstock {

// `arguments`: behind "penstock". Nothing when nothing is wrong with it, or when its verb cannot be
// tried: it would measure, train, or speak to another machine.
std::optional<std::string> refusal_of(const Arguments& arguments);

}  // namespace penstock
