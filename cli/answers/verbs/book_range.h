// The numbers of GPUs or nodes for which a book of plans is asked, in whatever words.
#pragma once

#include <string>

#include "cli/io/answer.h"

namespace penstock {

struct BookRange {
  std::string option = "--gpus";  // or "--nodes"
  std::string range;              // "8..64"; empty where nothing is said
  Arguments rest;                 // the words without those that say it
};

// Of "--nnodes 1:4", "--gpus 8-64", "--min-gpus 8 --max-gpus 64", "--max-nodes 8". Single numbers
// and lists are left where they are.
BookRange book_range(const Arguments& words);

}  // namespace penstock
