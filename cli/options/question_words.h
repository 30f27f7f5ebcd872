// A question as people and programs read it.
#pragma once

#include <string>
#include <vector>

#include "cli/options/question.h"

namespace penstock {

// "GPT-6.7B on 8 x p4d: at most 64 GPUs, global batch 512, sequence length 2048, executor ideal"
std::string words_of(const Question& question);
// "penstock 0.1.0; profile p.json fnv1a64:..., cluster c.json fnv1a64:..."
std::string origin_of(const Question& question);
// What an estimate rests on, in lines; nothing of a measured profile.
std::vector<std::string> notes_of(const Question& question);
// Appends the question to a JSON object.
void set_question(Json& json, const Question& question);

}  // namespace penstock
