// The question that options ask: the files that they name, read or estimated.
#pragma once

#include "search/question.h"

namespace penstock {

struct SearchOptions;

Question question_of(const SearchOptions& options);
// The same of another number of GPUs, whatever the batch.
Question question_of(SearchOptions options, int gpus);
// As many as this machine has.
int default_threads();

}  // namespace penstock
