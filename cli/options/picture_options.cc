#include "cli/options/picture_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/words/parse.h"

namespace penstock {
namespace {

constexpr const char* kWindow = "--window";

struct Window {
  Duration from{}, to{};
};

Duration longest(const std::vector<StepTrace>& traces) {
  Duration length{};
  for (const StepTrace& trace : traces) length = std::max(length, trace.length);
  return length;
}

// How long the first 2 P micro-batches take: warm-up and a first period of most schedules.
Duration length_of_start(const std::vector<StepTrace>& traces) {
  Duration end{};
  for (const StepTrace& trace : traces) {
    int ranks = 0;
    for (const TraceRank& rank : trace.ranks) ranks = std::max(ranks, rank.pipeline_rank + 1);
    for (const TraceRank& rank : trace.ranks) {
      for (const TraceSlice& slice : rank.slices) {
        const bool is_early = slice.micro_batch >= 0 && slice.micro_batch < 2 * ranks;
        if (is_early && slice.lane == TraceLane::kCompute) end = std::max(end, slice.end);
      }
    }
  }
  return end;
}

// "10ms..200ms"
Window between(const std::string& text, Duration length) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) {
    bad_option(kWindow, fmt::format("unknown '{}'", text.substr(0, 60)),
               "start, end, all, or two times: 10ms..200ms");
  }
  const Duration from = parse_time(kWindow, text.substr(0, dots));
  const Duration to = parse_time(kWindow, text.substr(dots + 2));
  if (from >= to || from >= length) {
    bad_option(kWindow, fmt::format("nothing lies in '{}'", text.substr(0, 60)),
               fmt::format("the step takes {}", to_text(length)));
  }
  return {from, std::min(to, length)};
}

}  // namespace

void PictureOptions::declare(Options& options) {
  options.option("--title", "TEXT", "the title of a picture; default: what it shows", title);
  options.option("--window", "PART",
                 "the part of the step that a picture shows: start (warm-up and the first "
                 "period: 2 P micro-batches), end (the same length), FROM..TO (10ms..200ms); "
                 "default: all",
                 window);
}

StepPictureOptions PictureOptions::chosen(const std::vector<StepTrace>& traces,
                                          const std::string& otherwise) const {
  StepPictureOptions options;
  options.title = title.value_or(otherwise);
  if (!window || *window == "all") return options;
  const Duration length = longest(traces);
  Window part{Duration{}, length};
  if (*window == "start") {
    part.to = std::min(length, length_of_start(traces));
  } else if (*window == "end") {
    part.from = length - std::min(length, length_of_start(traces));
  } else {
    part = between(*window, length);
  }
  options.from = part.from;
  options.to = part.to;
  return options;
}

}  // namespace penstock
