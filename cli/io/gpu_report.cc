// Times of actions come from the untraced round and what they consist of from the traced one. An
// action whose kernels cover less than 95 % of its time is bound by launches. What tracing costs is
// printed beside it, because the two rounds are comparable only if that is little.
#include "cli/io/gpu_report.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/io/profile_report.h"
#include "profiler/bus_bandwidth.h"
#include "profiler/link_fit.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

// Kernels that cover less of an action than this leave the device waiting for launches.
constexpr double kCoveredByWork = 0.95;

const ChainSamples* chain_of(const TraceSamples& trace, const std::vector<ChainSamples>& chains) {
  const auto found = std::ranges::find_if(chains, [&](const ChainSamples& chain) {
    return !chain.sections.empty() &&
           chain.sections[0].micro_batch_size == trace.micro_batch_size &&
           chain.sections[0].recompute == trace.recompute;
  });
  return found == chains.end() ? nullptr : &*found;
}

// Without samples where an action is not timed by itself.
SampleSummary untraced_time(const SectionSamples& row, ActivityPhase phase) {
  switch (phase) {
    case ActivityPhase::kForward:
      return row.forward;
    case ActivityPhase::kInputGradient:
      return row.input_gradient;
    case ActivityPhase::kWeightGradient:
      return row.weight_gradient;
    case ActivityPhase::kFusedBackward:
      return row.fused_backward;
    case ActivityPhase::kRecompute:
      return row.recompute_time;
    default:
      return {};
  }
}

SampleSummary untraced_time(const ChainSamples* chain, const std::string& type,
                            ActivityPhase phase) {
  if (chain == nullptr) return {};
  if (phase == ActivityPhase::kGradientNorm) return chain->norm;
  const auto row = std::ranges::find(chain->sections, type, &SectionSamples::type);
  return row == chain->sections.end() ? SampleSummary{} : untraced_time(*row, phase);
}

std::string bound_by(const TagActivity& tag, const SampleSummary& untraced) {
  if (untraced.count == 0) return "-";
  const auto covered = static_cast<double>(tag.covered.median.count());
  const auto whole = static_cast<double>(untraced.median.count());
  return covered < kCoveredByWork * whole ? "launches" : "the device";
}

std::string words_of(ActivityPhase phase) {
  std::string words(name_of(phase));
  std::ranges::replace(words, '_', ' ');
  return words;
}

void add_rows(TextTable& table, const TraceSamples& trace, const ChainSamples* chain) {
  for (std::size_t i = 0; i < trace.types.size(); ++i) {
    const TagActivity& tag = trace.types[i];
    const ActivityPhase phase = phase_of(tag.tag);
    const SampleSummary untraced = untraced_time(chain, trace.type_names[i], phase);
    table.add({trace.type_names[i].empty() ? "all" : trace.type_names[i],
               std::to_string(trace.micro_batch_size), trace.recompute, words_of(phase),
               std::to_string(tag.kernels), std::to_string(tag.copies), std::to_string(tag.memsets),
               to_text(tag.busy.median), to_text(tag.covered.median),
               to_text(tag.launch_gaps.median),
               untraced.count == 0 ? "-" : to_text(untraced.median), bound_by(tag, untraced)});
  }
}

std::string signed_percent(double share) { return (share < 0.0 ? "" : "+") + percent(share); }

std::string cost_text(const TraceSamples& trace, Screen screen) {
  return wrapped(
      fmt::format("b = {}, recompute {}: a step takes {}, and {} while it is traced ({}; medians "
                  "of {}). No activity is left over: of {} an external id confirms {}, {} without "
                  "one were launched by another thread.",
                  trace.micro_batch_size, trace.recompute, to_text(trace.untraced_step.median),
                  to_text(trace.traced_step.median), signed_percent(tracing_overhead(trace)),
                  count_of(trace.steps, "step"), trace.confirmed + trace.without_external_id,
                  trace.confirmed, trace.without_external_id),
      screen.width(), "", "");
}

Json typical_json(const TypicalDuration& typical) {
  return Json::object()
      .set("median_ns", std::int64_t{typical.median.count()})
      .set("deviation_ns", std::int64_t{typical.deviation.count()});
}

Json tag_json(const TagActivity& tag, const std::vector<std::string>& names) {
  Json json = Json::object();
  const auto section = static_cast<std::size_t>(section_of(tag.tag));
  if (is_of_one_section(phase_of(tag.tag)) && section < names.size()) {
    json.set("section", names[section]);
  }
  return json.set("phase", std::string(name_of(phase_of(tag.tag))))
      .set("repeats", tag.repeats)
      .set("kernels", tag.kernels)
      .set("copies", tag.copies)
      .set("memsets", tag.memsets)
      .set("copied_bytes", tag.copied.count)
      .set("set_bytes", tag.set.count)
      .set("busy", typical_json(tag.busy))
      .set("covered", typical_json(tag.covered))
      .set("span", typical_json(tag.span))
      .set("launch_gaps", typical_json(tag.launch_gaps));
}

Json trace_json(const TraceSamples& trace, const std::vector<std::string>& names) {
  Json json = Json::object();
  json.set("micro_batch_size", trace.micro_batch_size)
      .set("sequence_length", trace.sequence_length)
      .set("recompute", trace.recompute)
      .set("steps", trace.steps)
      .set("untraced_step_ns", std::int64_t{trace.untraced_step.median.count()})
      .set("traced_step_ns", std::int64_t{trace.traced_step.median.count()})
      .set("tracing_overhead", tracing_overhead(trace))
      .set("tracer_overhead_ns", std::int64_t{trace.tracer_overhead.count()})
      .set("unattributed_ns", std::int64_t{trace.unattributed.count()})
      .set("confirmed_activities", trace.confirmed)
      .set("activities_without_external_id", trace.without_external_id);
  if (!trace.why_void.empty()) json.set("void", trace.why_void);
  Json activity = Json::array();
  for (const TagActivity& tag : trace.sections) activity.push(tag_json(tag, names));
  return json.set("activity", std::move(activity));
}

struct CopyCase {
  const char* words;
  const char* name;
  CopyWay way;
  HostMemory memory;
};
constexpr std::array<CopyCase, 6> kCopyCases{
    {{"to device", "to_device", CopyWay::kToDevice, HostMemory::kPinned},
     {"to host", "to_host", CopyWay::kToHost, HostMemory::kPinned},
     {"both ways", "both_ways", CopyWay::kBothWays, HostMemory::kPinned},
     {"to device, pageable", "to_device", CopyWay::kToDevice, HostMemory::kPageable},
     {"to host, pageable", "to_host", CopyWay::kToHost, HostMemory::kPageable},
     {"on device", "on_device", CopyWay::kOnDevice, HostMemory::kPinned}}};

const CopyCase& case_of(const CopySample& sample) {
  return *std::ranges::find_if(kCopyCases, [&](const CopyCase& one) {
    return one.way == sample.way && one.memory == sample.memory;
  });
}

std::string copy_cell(const std::vector<CurvePoint>& curve, Bytes bytes) {
  const auto point = std::ranges::find(curve, bytes, &CurvePoint::bytes);
  return point == curve.end() ? "-" : gigabytes(algorithm_bandwidth(bytes, point->time));
}

std::string copy_fits(const std::vector<CopySample>& samples, bool under_load) {
  std::string text;
  for (const CopyCase& one : kCopyCases) {
    const std::optional<LinkFit> fit = fit_link(curve_of(samples, one.way, one.memory, under_load));
    if (!fit) continue;
    text += fmt::format("{}: {} + bytes / {}; off by up to {}\n", one.words, to_text(fit->latency),
                        gigabytes(fit->bandwidth), percent(fit->worst_error));
  }
  return text;
}

std::string copy_table(const std::vector<CopySample>& samples, bool under_load, Screen screen) {
  std::vector<Column> columns{{.header = "bytes"}};
  std::vector<std::vector<CurvePoint>> curves;
  curves.reserve(kCopyCases.size());
  for (const CopyCase& one : kCopyCases) {
    columns.push_back({.header = one.words});
    curves.push_back(curve_of(samples, one.way, one.memory, under_load));
  }
  std::vector<Bytes> sizes;
  sizes.reserve(samples.size());
  for (const CopySample& sample : samples) {
    if (sample.under_load == under_load) sizes.push_back(sample.bytes);
  }
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  TextTable table(std::move(columns));
  for (const Bytes bytes : sizes) {
    std::vector<std::string> cells{to_text(bytes)};
    for (const auto& curve : curves) cells.push_back(copy_cell(curve, bytes));
    table.add(std::move(cells));
  }
  return table.text(screen.width(120)) + copy_fits(samples, under_load);
}

}  // namespace

std::string traces_report(const std::vector<TraceSamples>& traces,
                          const std::vector<ChainSamples>& chains, Screen screen) {
  TextTable table({left_column("section"), right_column("b"), left_column("recompute"),
                   left_column("phase"), right_column("kernels"), right_column("copies"),
                   right_column("memsets"), right_column("busy"), right_column("covered"),
                   right_column("launch gaps"), right_column("untraced"), left_column("bound by")});
  std::string costs;
  for (const TraceSamples& trace : traces) {
    if (!trace.why_void.empty()) continue;
    add_rows(table, trace, chain_of(trace, chains));
    costs += cost_text(trace, screen);
  }
  if (costs.empty()) return "";
  return "What the GPU did, traced after the times above (untraced: by CUDA events, the price):\n" +
         table.text(screen.width(140)) + '\n' + costs;
}

Json traces_json(const std::vector<TraceSamples>& traces, const std::vector<std::string>& names) {
  Json json = Json::array();
  for (const TraceSamples& trace : traces) json.push(trace_json(trace, names));
  return json;
}

std::string copies_report(const std::vector<CopySample>& samples, Screen screen) {
  if (samples.empty()) return "";
  const bool loaded = std::ranges::any_of(samples, &CopySample::under_load);
  std::string text = "Copies between host and device, per direction, by CUDA events:\n" +
                     copy_table(samples, false, screen);
  if (loaded)
    text += "\nWhile memsets use the device's memory:\n" + copy_table(samples, true, screen);
  return text;
}

Json copies_json(const std::vector<CopySample>& samples) {
  Json json = Json::array();
  for (const CopySample& sample : samples) {
    const char* const memory = sample.memory == HostMemory::kPinned ? "pinned" : "pageable";
    json.push(summary_json(Json::object()
                               .set("way", case_of(sample).name)
                               .set("memory", memory)
                               .set("under_load", sample.under_load)
                               .set("bytes", sample.bytes.count),
                           sample.time));
  }
  return json;
}

}  // namespace penstock
