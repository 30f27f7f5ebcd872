// The question that options ask: the files that they name, read or estimated; and its words.
#pragma once

#include <string>
#include <vector>

#include "search/question.h"

namespace penstock {

struct SearchOptions;

Question question_of(const SearchOptions& options);
// The same of another number of GPUs, whatever the batch.
Question question_of(SearchOptions options, int gpus);
// Error where the model cannot be read, or an option that its question needs is missing.
void require_inputs(const SearchOptions& options);
// As many as this machine has.
int default_threads();
// What an estimate is made for where nothing says which C and EP.
const std::vector<int>& searched_contexts();
const std::vector<int>& searched_experts();

// "GPT-6.7B on 8 x p4d: at most 64 GPUs, global batch 512, sequence length 2048, executor ideal"
std::string words_of(const Question& question);
// "penstock 0.1.0; profile p.json fnv1a64:..., cluster c.json fnv1a64:..."
std::string origin_of(const Question& question);
// What an estimate rests on, in lines; nothing of a measured profile.
std::vector<std::string> notes_of(const Question& question);
// Appends the question to a JSON object; without its global batch.
void set_question(Json& json, const Question& question);
void set_inputs(Json& json, const Question& question);

}  // namespace penstock
