// `plan --gpus 8..64`: the fastest plan for every number of GPUs, as a table and as a book.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/io/answer.h"
#include "cli/options/counts_of_types.h"
#include "cli/options/table_format.h"
#include "report/screen.h"
#include "search/question.h"
#include "studies/fewest_gpus.h"

namespace penstock {

// How many GPUs its pages are for: numbers, or, of several types, numbers of each.
struct BookSizes {
  std::vector<int> gpus;
  std::optional<CountsOfTypes> of_types;
};

// `question`: of the largest of `sizes`. `output`: where the book is written, "-" for stdout
// instead of the table. `title`: what was asked, in words. `asked_of`: for the fewest GPUs that
// would do, where no page has a plan.
Answer book_of_plans(const Question& question, const BookSizes& sizes, const std::string& title,
                     const std::optional<std::string>& output, TableFormat format, Screen screen,
                     const AskedOf& asked_of);

}  // namespace penstock
