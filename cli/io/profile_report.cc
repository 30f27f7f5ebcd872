// Nothing is computed here but ratios and the fit of one line, which is printed with its worst
// error, because prices are made from the table and not from the line. Times without samples are
// "-".
#include "cli/io/profile_report.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "profiler/bus_bandwidth.h"
#include "profiler/link_fit.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

std::string time_of(const SampleSummary& summary) {
  return summary.count == 0 ? "-" : to_text(summary.median);
}

// Of the median known least well, over all actions of a row.
double worst_error(const SectionSamples& row) {
  return std::max({row.forward.error, row.input_gradient.error, row.weight_gradient.error,
                   row.fused_backward.error, row.recompute_time.error});
}

const LinkSample* find(const LinkSamples& samples, LinkPattern pattern, bool under_load,
                       Bytes bytes) {
  for (const LinkSample& sample : samples.links) {
    if (sample.pattern == pattern && sample.under_load == under_load && sample.bytes == bytes) {
      return &sample;
    }
  }
  return nullptr;
}

std::string pattern_name(LinkPattern pattern) {
  switch (pattern) {
    case LinkPattern::kAlone:
      return "alone";
    case LinkPattern::kOneWay:
      return "one_way";
    case LinkPattern::kBothWays:
      return "both_ways";
  }
  return "";
}

std::string bandwidth_of(const LinkSample* sample) {
  if (sample == nullptr) return "-";
  return gigabytes(algorithm_bandwidth(sample->bytes, sample->time.median));
}

std::string point_to_point_table(const LinkSamples& samples, bool under_load, Screen screen) {
  TextTable table({right_column("bytes"), right_column("alone, fastest quarter"),
                   right_column("median"), right_column("one way"), right_column("both ways")});
  for (const LinkSample& sample : samples.links) {
    if (sample.pattern != LinkPattern::kAlone || sample.under_load != under_load) continue;
    table.add({to_text(sample.bytes), to_text(sample.time.quarter), to_text(sample.time.median),
               bandwidth_of(find(samples, LinkPattern::kOneWay, under_load, sample.bytes)),
               bandwidth_of(find(samples, LinkPattern::kBothWays, under_load, sample.bytes))});
  }
  return table.text(screen.width());
}

std::string collective_table(const LinkSamples& samples, bool under_load, Screen screen) {
  TextTable table({left_column("collective"), right_column("ranks"), right_column("bytes"),
                   right_column("fastest quarter"), right_column("median"),
                   right_column("bus bandwidth")});
  std::vector<const CollectiveSample*> rows;
  for (const CollectiveSample& sample : samples.collectives) {
    if (sample.under_load == under_load) rows.push_back(&sample);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    return std::pair(a->kind, a->participants) < std::pair(b->kind, b->participants);
  });
  for (const CollectiveSample* row : rows) {
    table.add(
        {std::string(name_of(row->kind)), std::to_string(row->participants), to_text(row->bytes),
         to_text(row->time.quarter), to_text(row->time.median),
         gigabytes(bus_bandwidth(row->kind, row->participants, row->bytes, row->time.median))});
  }
  return rows.empty() ? "" : '\n' + table.text(screen.width());
}

std::string fit_text(const LinkSamples& samples, bool under_load, Screen screen) {
  const std::optional<LinkFit> fit =
      fit_link(curve_of(samples, LinkPattern::kAlone, under_load, LinkStatistic::kQuarter));
  if (!fit) return "";
  return wrapped(
      fmt::format("One line through the fastest quarter: {} + bytes / {}; off by up to "
                  "{}, so prices are made from the table.",
                  to_text(fit->latency), gigabytes(fit->bandwidth), percent(fit->worst_error)),
      screen.width(), "", "");
}

}  // namespace

std::string gigabytes(BytesPerSecond rate) {
  return fmt::format("{} GB/s", significant(rate.value / 1e9, 3));
}

Json summary_json(Json json, const SampleSummary& time) {
  return json.set("count", time.count)
      .set("minimum_ns", std::int64_t{time.minimum.count()})
      .set("quarter_ns", std::int64_t{time.quarter.count()})
      .set("median_ns", std::int64_t{time.median.count()})
      .set("ninetieth_ns", std::int64_t{time.ninetieth.count()});
}

std::string sections_report(const std::vector<ChainSamples>& chains, Screen screen) {
  TextTable table({left_column("section"), right_column("b"), left_column("recompute"),
                   right_column("F"), right_column("I"), right_column("W"), right_column("B"),
                   right_column("R"), right_column("known to"), right_column("stash"),
                   right_column("W stash"), right_column("working"), right_column("boundary")});
  for (const ChainSamples& chain : chains) {
    for (const SectionSamples& row : chain.sections) {
      table.add({row.type, std::to_string(row.micro_batch_size), row.recompute,
                 time_of(row.forward), time_of(row.input_gradient), time_of(row.weight_gradient),
                 time_of(row.fused_backward), time_of(row.recompute_time),
                 percent(worst_error(row)), to_text(row.memory.stash),
                 to_text(row.memory.weight_stash), to_text(row.memory.working_peak),
                 to_text(row.memory.boundary)});
    }
  }
  return table.text(screen.width(140));
}

std::string links_report(const LinkSamples& samples, Screen screen) {
  std::string text = "Transfers between ranks 0 and 1:\n" +
                     point_to_point_table(samples, false, screen) +
                     fit_text(samples, false, screen) + collective_table(samples, false, screen);
  const bool loaded = std::any_of(samples.links.begin(), samples.links.end(),
                                  [](const LinkSample& sample) { return sample.under_load; });
  if (!loaded) return text;
  return text + "\nWhile all ranks compute:\n" + point_to_point_table(samples, true, screen) +
         fit_text(samples, true, screen) + collective_table(samples, true, screen);
}

Json links_json(const LinkSamples& samples) {
  Json links = Json::array(), collectives = Json::array();
  for (const LinkSample& sample : samples.links) {
    links.push(summary_json(Json::object()
                                .set("pattern", pattern_name(sample.pattern))
                                .set("under_load", sample.under_load)
                                .set("bytes", sample.bytes.count),
                            sample.time));
  }
  for (const CollectiveSample& sample : samples.collectives) {
    const BytesPerSecond bus =
        bus_bandwidth(sample.kind, sample.participants, sample.bytes, sample.time.median);
    collectives.push(summary_json(Json::object()
                                      .set("kind", std::string(name_of(sample.kind)))
                                      .set("participants", sample.participants)
                                      .set("under_load", sample.under_load)
                                      .set("bytes", sample.bytes.count),
                                  sample.time)
                         .set("bus_bandwidth_bytes_per_s", bus.value));
  }
  return Json::object()
      .set("complete", samples.complete)
      .set("transfers", std::move(links))
      .set("collectives", std::move(collectives));
}

}  // namespace penstock
