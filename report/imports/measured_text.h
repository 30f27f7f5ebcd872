// The tables that nccl-tests and nvbandwidth print, which is what people publish, as the JSON that
// the same programs write: so both are judged by the same rules. Lines of a launcher around the
// table are passed over. Private to report/imports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/values/json.h"

namespace penstock {

// Does the text begin as JSON does?
bool is_json(std::string_view text);

// A line of the text and the words between its blanks; both point into it.
struct TableLine {
  int number = 0;
  std::string_view text;
  std::vector<std::string_view> words;
};
std::vector<TableLine> table_lines_of(std::string_view text);

// What `all_reduce_perf` and its sisters print. The ranks are those that it lists, the collective
// that of the program named in the text, else in the file's name. Error{kBadInput} with a remedy
// when one of them is missing, ranks are listed twice (built without MPI, every process ran
// alone), several programs ran, or bus and algorithm bandwidth are those of another collective.
Json nccl_text_as_json(std::string_view text, const std::string& file);

// What `nvbandwidth` prints. Cells of 0.00, the diagonal of older versions, are not applicable.
Json nvbandwidth_text_as_json(std::string_view text, const std::string& file);

}  // namespace penstock
