// free_study_range FIRST COUNT [large]: the property of free_study_test.cc on so many further
// random questions; a line per violation. Exit 1 when there is any.
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/studies/free_study.h"

int main(int argc, char** argv) {
  using penstock::testing::StudySize;
  if (argc < 3) {
    std::cerr << "usage: free_study_range FIRST COUNT [large]\n";
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const StudySize size =
      argc > 3 && std::string(argv[3]) == "large" ? StudySize::kLarge : StudySize::kSmall;
  std::uint64_t wrong = 0;
  for (std::uint64_t number = first; number < first + count; ++number) {
    for (const std::string& violation : penstock::testing::beaten_by_pins(number, size)) {
      std::cout << violation << std::endl;
      ++wrong;
    }
  }
  std::cout << count << " studies, " << wrong << " violations\n";
  return wrong == 0 ? 0 : 1;
}
