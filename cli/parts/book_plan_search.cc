#include <algorithm>

#include "cli/io/files.h"
#include "cli/io/one_device_type.h"
#include "cli/parts/book_plan.h"
#include "cli/words/parse.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "report/words.h"
#include "studies/plan_of_page.h"

namespace penstock {
namespace {

// In the order of the book's types.
std::vector<int> counts_of(const Loaded<PlanBook>& book, int ranks, const RanksOfTypes& of_types) {
  const std::vector<std::string>& types = book.value.types;
  if (of_types.empty()) {
    throw_bad_input(book.file.path + ": its pages count device types, and nobody says of which " +
                    "types the ranks are\nhelp: add --ranks-of " + joined(types, "=N,") +
                    "=N, which are " + std::to_string(ranks) + " in all");
  }
  std::vector<int> counts(types.size(), 0);
  int all = 0;
  for (const auto& [type, count] : of_types) {
    const auto found = std::find(types.begin(), types.end(), type);
    if (found == types.end()) {
      bad_option("--ranks-of", "the book has no plans for '" + type + "'",
                 "its types are " + joined(types, ", "));
    }
    counts[static_cast<std::size_t>(found - types.begin())] = count;
    all += count;
  }
  if (all != ranks) {
    bad_option("--ranks-of", "these are " + count_of(all, "rank"),
               "the job has " + std::to_string(ranks));
  }
  return counts;
}

std::string words_of(const PlanBook& book, const BookPage& page) {
  if (!book.counts_types()) return std::to_string(page.gpus) + " GPUs";
  std::vector<std::string> words;
  words.reserve(book.types.size());
  for (std::size_t t = 0; t < book.types.size(); ++t) {
    words.push_back(std::to_string(page.of_types[t]) + " " + book.types[t]);
  }
  return joined(words, ", ");
}

}  // namespace

Loaded<PlanFile> plan_from_book(const std::string& path, int ranks, const RanksOfTypes& of_types) {
  const Loaded<PlanBook> loaded = load_plan_book(path);
  const PlanBook& book = loaded.value;
  if (!book.counts_types()) {
    require_one_device_type(loaded, "a number of ranks");
    if (!of_types.empty()) {
      bad_option("--ranks-of", "the book counts GPUs of one type", "leave it out");
    }
  }
  const BookPage& page = book.counts_types()
                             ? page_for(book, counts_of(loaded, ranks, of_types), path)
                             : page_for(book, ranks, path);
  Loaded<PlanFile> plan;
  plan.value = plan_of_page(book, page, path);
  plan.file.path = path + " (" + words_of(book, page) + ")";
  plan.file.hash = content_hash(to_text(write_plan(plan.value)));
  return plan;
}

}  // namespace penstock
