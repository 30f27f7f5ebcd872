#include "costmodel/sources.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr std::size_t kLongestClause = 72;

std::string first_clause(const std::string& text) {
  std::size_t end = text.size();
  for (const char* stop : {": ", "; ", ". "}) end = std::min(end, text.find(stop));
  if (end <= kLongestClause) return text.substr(0, end);
  const std::size_t space = text.rfind(' ', kLongestClause);
  return text.substr(0, space == std::string::npos ? kLongestClause : space) + " ...";
}

}  // namespace

const Source* unmeasured_source(const std::vector<Source>& sources, int index) {
  const auto i = static_cast<std::size_t>(index);
  if (index < 0 || i >= sources.size()) return nullptr;
  return sources[i].origin == Origin::kMeasured ? nullptr : &sources[i];
}

bool is_assumed(const Source* source) {
  return source != nullptr &&
         (source->origin == Origin::kAssumed || source->origin == Origin::kDatasheet);
}

ErrorBand error_of_assumed_times(const SectionType& type, const std::vector<Source>& sources) {
  ErrorBand largest;
  for (const Measurement& m : type.measurements) {
    const Source* source = unmeasured_source(sources, m.time_source);
    if (source == nullptr) continue;
    const double plain = source->origin == Origin::kDatasheet ? kFromDatasheet : kNotMeasured;
    const ErrorBand error = source->error.value_or(ErrorBand{plain, plain});
    largest.below = std::max(largest.below, error.below);
    largest.above = std::max(largest.above, error.above);
  }
  return largest;
}

std::string origin_in_words(Origin origin) {
  switch (origin) {
    case Origin::kMeasured:
      return "measured";
    case Origin::kDatasheet:
      return "from a datasheet";
    case Origin::kDerived:
      return "derived";
    case Origin::kAssumed:
      return "assumed";
  }
  return "";
}

std::string in_short(const Source& source) {
  const std::string clause = first_clause(source.text);
  // "operations: operations" would say it twice.
  if (clause.empty() || clause == source.id) return source.id;
  return source.id + ": " + clause;
}

}  // namespace penstock
