// The ending of the file's name says the form. All schedules of a picture share one scale of time
// and one unit of memory, the least common multiple of theirs, because a micro-batch is several
// chunks in some of them.
#include "cli/reports/schedule_picture.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "cli/io/png.h"
#include "cli/io/write_output.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "core/values/json.h"
#include "core/values/json_reader.h"
#include "report/traces/trace_files.h"

namespace penstock {
namespace {

// More rows than that are no picture.
constexpr std::size_t kMostSteps = 24;
constexpr std::int64_t kLargestUnit = 1'000'000;

// For the text of a page.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

// One unit of memory for all of them, so that schedules with several chunks per rank compare.
std::int64_t common_unit(std::vector<SyntheticStep>& steps) {
  std::int64_t unit = 1;
  for (const SyntheticStep& step : steps) {
    unit = std::min(kLargestUnit, std::lcm(unit, step.held_per_micro_batch));
  }
  for (SyntheticStep& step : steps) {
    for (TraceRank& rank : step.trace.ranks) {
      for (MemoryPoint& point : rank.memory) {
        point.stash.count = point.stash.count * unit / step.held_per_micro_batch;
      }
    }
  }
  return unit;
}

std::string page_of(const std::string& title, const std::string& svg, const std::string& text) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n"
      "<style>body {{ font: 15px sans-serif; margin: 24px; color: #22262c; background: #fff }} "
      "svg {{ max-width: 100%; height: auto }} pre {{ overflow-x: auto }}</style>\n</head>\n"
      "<body>\n<h1>{0}</h1>\n{1}\n<pre>{2}</pre>\n</body>\n</html>\n",
      escaped(title), svg, escaped(text));
}

std::string perfetto_of(SyntheticStep step, const std::string& title) {
  // Perfetto's counters are bytes, and nothing is known of them.
  for (TraceRank& rank : step.trace.ranks) rank.memory.clear();
  Json metadata = Json::object();
  metadata.set("what", title).set("tool", fmt::format("penstock {}", version()));
  metadata.set("step_time_ns", std::int64_t{step.trace.length.count()});
  return perfetto_json(step.trace, metadata);
}

}  // namespace

void check_step_file(const std::string& path, std::size_t steps) {
  const auto ends = [&](const char* end) { return path.ends_with(end); };
  if (!ends(".svg") && !ends(".png") && !ends(".html") && !ends(".json")) {
    const std::size_t dot = path.find('.', path.rfind('/') + 1);
    bad_option("--output", fmt::format("'{}' says no format that is written", path),
               fmt::format("write -o {}.svg: files end in .svg, .png, .html or .json (for "
                           "ui.perfetto.dev)",
                           path.substr(0, dot)));
  }
  if (steps > 1 && ends(".json")) {
    bad_option("--output", "a trace holds one schedule", "name one, or draw them: -o steps.svg");
  }
  if (steps > kMostSteps) {
    bad_option("--output", fmt::format("{} schedules are too many for a picture", steps),
               fmt::format("choose at most {}", kMostSteps));
  }
}

Picture picture_of(std::vector<SyntheticStep> steps, const PictureOptions& options,
                   const std::string& title) {
  const std::int64_t unit = common_unit(steps);
  std::vector<StepTrace> traces;
  traces.reserve(steps.size());
  for (SyntheticStep& step : steps) traces.push_back(std::move(step.trace));
  StepPictureOptions chosen = options.chosen(traces, title);
  chosen.held_per_micro_batch = unit;
  return step_picture(traces, chosen);
}

void write_step_file(const std::string& path, std::vector<SyntheticStep> steps,
                     const PictureOptions& options, const std::string& title,
                     const std::string& text) {
  const std::string named = options.title.value_or(title);
  if (path.ends_with(".json")) {
    write_output(path, perfetto_of(std::move(steps.front()), named));
    return;
  }
  const Picture picture = picture_of(std::move(steps), options, title);
  if (path.ends_with(".png")) {
    write_output(path, png_of(picture));
  } else if (path.ends_with(".svg")) {
    write_output(path, svg_of(picture));
  } else {
    write_output(path, page_of(named, svg_of(picture), text));
  }
}

}  // namespace penstock
