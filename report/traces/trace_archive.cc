#include <cstdint>
#include <numeric>

#include <fmt/format.h>

#include "core/values/error.h"
#include "report/traces/trace_files.h"

namespace penstock {
namespace {

constexpr std::size_t kBlock = 512;

// The header of POSIX.1-1988 "ustar": fields of fixed width, numbers in octal digits.
std::string header_of(const NamedText& file) {
  if (file.name.size() > 100) {
    throw Error(ErrorKind::kInternal, file.name + ": too long a name for an archive");
  }
  std::string header(kBlock, '\0');
  const auto put = [&header](std::size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  put(0, file.name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", file.text.size()));
  put(136, "00000000000");
  put(148, "        ");  // the sum counts itself as blanks
  put(156, "0");
  put(257, "ustar");
  put(263, "00");
  const std::uint32_t sum = std::accumulate(
      header.begin(), header.end(), std::uint32_t{0},
      [](std::uint32_t total, char c) { return total + static_cast<unsigned char>(c); });
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return header;
}

}  // namespace

std::string tar_of(const std::vector<NamedText>& files) {
  std::string tar;
  for (const NamedText& file : files) {
    tar += header_of(file);
    tar += file.text;
    tar.resize((tar.size() + kBlock - 1) / kBlock * kBlock, '\0');
  }
  tar.resize(tar.size() + 2 * kBlock, '\0');
  return tar;
}

NamedText perfetto_manifest(const std::vector<std::string>& traces) {
  std::string text = "{\"perfetto_manifest\": {\"version\": 1, \"files\": [";
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const std::string machine = traces[i].substr(0, traces[i].find('.'));
    text += fmt::format(R"({}{{"path": "{}", "machine": {{"name": "{}"}})", i > 0 ? ", " : "",
                        traces[i], machine);
    if (i > 0) {
      text += fmt::format(R"(, "clocks": {{"sync_to": {{"file": "{}"}}, "offset_ns": 0}})",
                          traces.front());
    }
    text += '}';
  }
  return {"perfetto_manifest.json", text + "]}}\n"};
}

}  // namespace penstock
