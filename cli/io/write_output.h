#pragma once

#include <string>
#include <string_view>

namespace penstock {

// What a verb answers, into the file that was named for it; not in a rehearsal (rehearsal.h). The
// errors of write_file().
void write_output(const std::string& path, std::string_view text);

}  // namespace penstock
