#include "report/spill_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/json_array.h"
#include "report/plan_table.h"
#include "report/result_json.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

// Two of twenty lines are for where the plan is.
constexpr std::ptrdiff_t kMostLines = 18;

std::int64_t ns(Duration duration) { return duration.count(); }

// Neighbouring shards that differ in nothing but their names, as one row.
struct ShardRow {
  std::size_t first = 0, last = 0;
};

bool are_alike(const SpillReportShard& a, const SpillReportShard& b) {
  return a.sections == b.sections && a.state == b.state && a.forward == b.forward &&
         a.back == b.back && a.load == b.load && a.store == b.store;
}

std::vector<ShardRow> rows_of(const SpillReport& report, bool in_full) {
  std::vector<ShardRow> rows;
  for (std::size_t s = 0; s < report.shards.size(); ++s) {
    if (!in_full && s > 0 && are_alike(report.shards[s - 1], report.shards[s])) {
      rows.back().last = s;
    } else {
      rows.push_back({s, s});
    }
  }
  return rows;
}

// "layer.4..layer.17"; of several shards "layer.0..layer.31, 2 each"
std::string sections_of(const SpillReport& report, const ShardRow& row) {
  const SpillReportShard &first = report.shards[row.first], &last = report.shards[row.last];
  const std::string names = first.first_section == last.last_section
                                ? first.first_section
                                : first.first_section + ".." + last.last_section;
  return row.first == row.last ? names : fmt::format("{}, {} each", names, first.sections);
}

TextTable shard_table(const SpillReport& report, const std::vector<ShardRow>& rows,
                      std::size_t shown) {
  TextTable table({right_column("shard"),
                   {.header = "sections", .left = true, .gap = 2, .drop = 1},
                   right_column("slot GiB"),
                   right_column("forward"),
                   right_column("back"),
                   {.header = "load", .drop = 2},
                   {.header = "copy back", .drop = 3}});
  for (std::size_t r = 0; r < shown; ++r) {
    const ShardRow& row = rows[r];
    const SpillReportShard& shard = report.shards[row.first];
    table.add({row.first == row.last ? std::to_string(row.first)
                                     : fmt::format("{}-{}", row.first, row.last),
               sections_of(report, row), gib(shard.state), aligned(shard.forward),
               aligned(shard.back), aligned(shard.load), aligned(shard.store)});
  }
  return table;
}

// "2 passes of 8 micro-batches of 1 sample"
std::string passes_text(const SpillReport& report) {
  const Plan& plan = report.file->plan;
  const int micro_batches = plan.global_batch / plan.micro_batch_size;
  return fmt::format("{} of {} of {}",
                     report.passes == 1 ? "one pass" : fmt::format("{} passes", report.passes),
                     micro_batches == report.passes
                         ? "one micro-batch"
                         : fmt::format("{} micro-batches", micro_batches / report.passes),
                     count_of(plan.micro_batch_size, "sample"));
}

std::vector<std::string> sentences_of(const SpillReport& report) {
  const Evaluation& prediction = report.file->prediction;
  return {
      fmt::format("Use {} ({}), {}, the optimizer on the {}.",
                  count_of(static_cast<std::int64_t>(report.shards.size()), "shard"),
                  report.partition, passes_text(report), report.updates_on_host ? "host" : "GPU"),
      fmt::format("A step takes {} ({}): {} of compute, {} of the load time hidden.",
                  rounded(prediction.step_time),
                  rounded_range(prediction.step_time_low, prediction.step_time_high),
                  rounded(report.compute), percent(report.hidden))};
}

std::string memory_text(const SpillReport& report) {
  const RankEvaluation& rank = report.file->prediction.ranks.front();
  return fmt::format(
      "GPU: {} of {} GiB, with two slots and the activations of a shard. Host: {} of {} GiB, "
      "page-locked; a step loads {} GiB and copies {} GiB back.",
      gib(rank.memory.total()), gib(rank.capacity), gib(report.host), gib(report.host_memory),
      gib(report.loaded), gib(report.stored));
}

// What it rests on: as a hint, or in full.
std::string grounds_text(const SpillReport& report, std::size_t width, bool in_full) {
  if (!in_full) {
    return wrapped("Assumed, not measured: the host and its link (-v).", width, "", "");
  }
  const std::string others = fmt::format(
      "Closed form: {}. With a load before every unit but the first, as Hydra does it: {}; without "
      "double buffering: {}.",
      to_text(report.closed_form), to_text(report.with_reloads), to_text(report.with_one_slot));
  return wrapped(others, width, "", "") + '\n' + wrapped(report.notes, width, "", "  ");
}

// With the first `shown` rows of the table.
std::string answer_with(const SpillReport& report, const std::vector<ShardRow>& rows,
                        std::size_t shown, std::size_t width, bool in_full) {
  std::string text = wrapped(report.question, width, "", "  ") + '\n' +
                     wrapped(sentences_of(report), width, "", "") + '\n' +
                     shard_table(report, rows, shown).text(width);
  if (shown < rows.size()) {
    const std::size_t left = report.shards.size() - 1 - rows[shown - 1].last;
    text +=
        fmt::format("... and {}; -v has all\n", count_of(static_cast<std::int64_t>(left), "shard"));
  }
  return text + wrapped(memory_text(report), width, "", "") + grounds_text(report, width, in_full);
}

Json shard_json(const SpillReportShard& shard) {
  return Json::object()
      .set("first_section", shard.first_section)
      .set("last_section", shard.last_section)
      .set("slot_bytes", shard.state.count)
      .set("forward_ns", ns(shard.forward))
      .set("back_ns", ns(shard.back))
      .set("load_ns", ns(shard.load))
      .set("store_ns", ns(shard.store));
}

Json unit_json(const SpillReportUnit& unit) {
  return Json::object()
      .set("kind", unit.kind)
      .set("pass", unit.pass)
      .set("shard", unit.shard)
      .set("bytes_in", unit.in.count)
      .set("bytes_out", unit.out.count)
      .set("compute_ns", ns(unit.compute));
}

}  // namespace

std::string spill_remedy_text(const SpillReport& report) {
  return fmt::format("fits with spilling: {} a step, {} of load time hidden",
                     to_text(report.file->prediction.step_time), percent(report.hidden));
}

std::string spill_text(const SpillReport& report, Screen screen, bool in_full) {
  const std::vector<ShardRow> rows = rows_of(report, in_full);
  std::size_t shown = rows.size();
  std::string text = answer_with(report, rows, shown, screen.width(), in_full);
  while (!in_full && shown > 1 && std::count(text.begin(), text.end(), '\n') > kMostLines) {
    text = answer_with(report, rows, --shown, screen.width(), in_full);
  }
  return text;
}

Json spill_json(const SpillReport& report) {
  const Evaluation& prediction = report.file->prediction;
  Json json = Json::object();
  json.set("plan", to_json(report.file->plan)).set("passes", report.passes);
  json.set("updates_on", report.updates_on_host ? "host" : "device");
  json.set("step_time_ns", ns(prediction.step_time))
      .set("step_time_low_ns", ns(prediction.step_time_low))
      .set("step_time_high_ns", ns(prediction.step_time_high))
      .set("closed_form_ns", ns(report.closed_form))
      .set("with_reloads_ns", ns(report.with_reloads))
      .set("with_one_slot_ns", ns(report.with_one_slot))
      .set("compute_ns", ns(report.compute))
      .set("loading_ns", ns(report.loading))
      .set("hidden_share", report.hidden);
  json.set("device_bytes", prediction.ranks.front().memory.total().count)
      .set("device_capacity_bytes", prediction.ranks.front().capacity.count)
      .set("host_bytes", report.host.count)
      .set("host_capacity_bytes", report.host_memory.count)
      .set("loaded_bytes", report.loaded.count)
      .set("stored_bytes", report.stored.count);
  json.set("partition", report.partition);
  json.set("shards", array_of(report.shards, shard_json));
  json.set("units", array_of(report.units, unit_json));
  return json.set("notes", strings(report.notes));
}

}  // namespace penstock
