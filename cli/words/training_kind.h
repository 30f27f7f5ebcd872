// What the training is said to be: fine-tuning, of all parameters or of some.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// "task" with "finetune", "stage" with "sft", "freeze": what is said of them to a verb that plans.
// `word` is the name of an option without its dashes; empty where it is about something else.
std::string help_for_training_kind(std::string_view word, std::string_view value);

}  // namespace penstock
