// Jobs of Hugging Face's Trainer and Accelerate, whose files nothing here judges: what can be asked
// in their place, with the numbers that they say.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// A script that starts the Trainer or Accelerate, Accelerate's own configuration, or what the
// Trainer prints of its steps.
bool is_of_hugging_face(std::string_view text);

// "DP=8 mbs=2 gbs=64 sharding=fsdp" of such a text; what it does not say is an example.
std::string layout_of_hugging_face(std::string_view text);

// What such a file is, and what to ask instead, in a sentence.
std::string help_for_hugging_face(std::string_view text);

}  // namespace penstock
