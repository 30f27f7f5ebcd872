// Wishes that no single option answers, and that would be lost if each word was answered alone: a
// budget in dollars, GPUs of two types with a number each, the layout of a model that is to be
// checked, the price of a whole machine. Each is answered with the whole command.
#pragma once

#include "cli/answers/commands/given_options.h"
#include "cli/io/answer.h"
#include "cli/options/option_table.h"

namespace penstock {

// Error{kBadInput} with the command that does what was wanted; returns where there is no such wish.
void refuse_lost_wish(const OptionTable& table, const Arguments& words, const GivenWords& given);

}  // namespace penstock
