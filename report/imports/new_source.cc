#include "report/imports/new_source.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace penstock {

int add_source(ClusterSpec& cluster, Source source) {
  std::vector<Source>& sources = cluster.sources;
  const auto same = std::find_if(sources.begin(), sources.end(), [&](const Source& other) {
    return other.text == source.text && other.origin == source.origin;
  });
  if (same != sources.end()) return static_cast<int>(same - sources.begin());
  const std::string stem = source.id;
  const auto is_taken = [&] {
    return std::any_of(sources.begin(), sources.end(),
                       [&](const Source& other) { return other.id == source.id; });
  };
  for (int number = 2; is_taken(); ++number) source.id = fmt::format("{}-{}", stem, number);
  sources.push_back(std::move(source));
  return static_cast<int>(sources.size()) - 1;
}

Source with_remark(const ClusterSpec& cluster, int index, const std::string& label,
                   const std::string& text) {
  Source source = cluster.sources[static_cast<std::size_t>(index)];
  const std::string mark = label + ": ", rest = "; the rest: ";
  const std::size_t before = source.text.find(rest);
  if (source.text.starts_with(mark) && before != std::string::npos) {
    source.text.erase(0, before + rest.size());
  }
  source.text = mark + text + rest + source.text;
  return source;
}

void tell_of_calibration(const ClusterSpec& cluster, std::vector<std::string>& notes) {
  if (!cluster.calibration) return;
  notes.emplace_back(
      "the cluster's executor was fitted with the links as they were before: calibrate again");
}

std::string name_of_file(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::string or_unknown(const std::string& text) { return text.empty() ? "not said" : text; }

}  // namespace penstock
