// free_search_range FIRST COUNT [large]: the properties of free_search_test.cc on so many further
// random models; a line per violation. Exit 1 when there is any.
#define DOCTEST_CONFIG_IMPLEMENT  // models.cc checks results, too

#include <cstdlib>
#include <iostream>
#include <string>

#include <doctest/doctest.h>

#include "tests/search/free_search.h"

int main(int argc, char** argv) {
  using namespace penstock::testing;
  if (argc < 3) {
    std::cerr << "usage: free_search_range FIRST COUNT [large]\n";
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const ModelSize size =
      argc > 3 && std::string(argv[3]) == "large" ? ModelSize::kLarge : ModelSize::kSmall;
  std::uint64_t wrong = 0;
  for (std::uint64_t model = first; model < first + count; ++model) {
    for (const auto& violations :
         {beaten_by_lesser_questions(model, size), winner_not_found_again(model, size),
          wrong_for_a_trainer(model, size), beaten_by_rare_pins(model, size)}) {
      for (const std::string& violation : violations) std::cout << violation << std::endl;
      wrong += violations.size();
    }
  }
  std::cout << count << " models, " << wrong << " violations\n";
  return wrong == 0 ? 0 : 1;
}
