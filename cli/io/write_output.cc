#include "cli/io/write_output.h"

#include "cli/answers/commands/rehearsal.h"
#include "core/values/json_reader.h"

namespace penstock {

void write_output(const std::string& path, std::string_view text) {
  work_begins();
  write_file(path, text);
}

}  // namespace penstock
