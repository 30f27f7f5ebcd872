// The lines of a launch script and of the files that it reads, in one row of numbers: those of a
// file begin where those of the one before it end. So an int is a place, as it is without them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

int line_count_of(std::string_view text);

class SourceLines {
 public:
  // The number of the first line of a file that has `lines` of them; `main_lines`: of the script.
  int add(std::string path, int lines, int main_lines);

  // The file of a line as it is named to a person, empty for the script itself; the line in it.
  [[nodiscard]] std::string file_of(int line) const;
  [[nodiscard]] int line_in_file(int line) const;
  // "line 7", "line 7 of megatron_args.sh"
  [[nodiscard]] std::string words(int line) const;

 private:
  struct Part {
    std::string path;
    int first = 0;
  };
  [[nodiscard]] const Part* part_of(int line) const;

  std::vector<Part> parts_;
  int next_ = 0;
};

}  // namespace penstock
