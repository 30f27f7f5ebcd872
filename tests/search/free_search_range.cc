// free_search_range FIRST COUNT [large|axes]: the properties of free_search_test.cc on so many
// further random models, or those of all_axes.h; a line per violation. Exit 1 when there is any.
#define DOCTEST_CONFIG_IMPLEMENT  // models.cc checks results, too

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/search/all_axes.h"
#include "tests/search/free_search.h"

namespace penstock::testing {
namespace {

// 0 to 4: those of free_search.h; 5 to 7: those of all_axes.h.
std::vector<std::string> violations_of(int property, std::uint64_t model, ModelSize size) {
  switch (property) {
    case 0:
      return beaten_by_lesser_questions(model, size);
    case 1:
      return winner_not_found_again(model, size);
    case 2:
      return wrong_for_a_trainer(model, size);
    case 3:
      return beaten_by_rare_pins(model, size);
    case 4:
      return not_found_as_faster(model, size);
    case 5:
      return bounds_change_the_answer(model);
    case 6:
      return beaten_by_pinned_axes(model);
    default:
      return not_in_step_with_inputs(model);
  }
}

}  // namespace
}  // namespace penstock::testing

int main(int argc, char** argv) {
  using namespace penstock::testing;
  if (argc < 3) {
    std::cerr << "usage: free_search_range FIRST COUNT [large|axes]\n";
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const std::string which = argc > 3 ? argv[3] : "";
  const ModelSize size = which == "large" ? ModelSize::kLarge : ModelSize::kSmall;
  const int from = which == "axes" ? 5 : 0, to = which == "axes" ? 8 : 5;
  std::uint64_t wrong = 0;
  for (std::uint64_t model = first; model < first + count; ++model) {
    for (int property = from; property < to; ++property) {
      const std::vector<std::string> violations = violations_of(property, model, size);
      for (const std::string& violation : violations) std::cout << violation << std::endl;
      wrong += violations.size();
    }
  }
  std::cout << count << " models, " << wrong << " violations\n";
  return wrong == 0 ? 0 : 1;
}
