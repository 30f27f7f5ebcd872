#include "report/spill_report.h"

#include <fmt/format.h>

#include "report/json_array.h"
#include "report/plan_table.h"
#include "report/result_json.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

// More shards than this are not shown one by one.
constexpr std::size_t kMostShards = 16;

std::int64_t ns(Duration duration) { return duration.count(); }

std::string sections_of(const SpillReportShard& shard) {
  return shard.first_section == shard.last_section
             ? shard.first_section
             : shard.first_section + ".." + shard.last_section;
}

TextTable shard_table(const SpillReport& report) {
  TextTable table({right_column("shard"),
                   {.header = "sections", .left = true, .gap = 2, .drop = 1},
                   right_column("slot GiB"),
                   right_column("forward"),
                   right_column("back"),
                   right_column("load"),
                   right_column("copy back")});
  for (std::size_t s = 0; s < report.shards.size() && s < kMostShards; ++s) {
    const SpillReportShard& shard = report.shards[s];
    table.add({std::to_string(s), sections_of(shard), gib(shard.state), aligned(shard.forward),
               aligned(shard.back), aligned(shard.load), aligned(shard.store)});
  }
  return table;
}

std::string batch_text(const SpillReport& report) {
  const Plan& plan = report.file->plan;
  const int micro_batches = plan.global_batch / plan.micro_batch_size;
  return fmt::format(
      "{} of {}, {}",
      micro_batches == 1 ? "One micro-batch" : fmt::format("{} micro-batches", micro_batches),
      count_of(plan.micro_batch_size, "sample"),
      report.passes == 1
          ? "in one pass through the model"
          : fmt::format("in {} passes of {} each", report.passes, micro_batches / report.passes));
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

}  // namespace

std::string spill_remedy_text(const SpillReport& report) {
  return fmt::format("fits with spilling: {} a step, {} of load time hidden",
                     to_text(report.file->prediction.step_time), percent(report.hidden));
}

std::string spill_text(const SpillReport& report, Screen screen) {
  const std::size_t width = screen.width();
  const Evaluation& prediction = report.file->prediction;
  const auto add = [&](const std::string& line) { return wrapped(line, width, "", "  "); };
  std::string text = add(report.question);
  text +=
      add(fmt::format("{} a step ({} to {}), in {} by {}: {} of compute, {} of load time hidden",
                      to_text(prediction.step_time), to_text(prediction.step_time_low),
                      to_text(prediction.step_time_high),
                      count_of(static_cast<std::int64_t>(report.shards.size()), "shard"),
                      report.partition, to_text(report.compute), percent(report.hidden)));
  text += add(fmt::format("Closed form: {}", to_text(report.closed_form)));
  text += add(batch_text(report) + (report.updates_on_host ? "; the optimizer runs on the host"
                                                           : "; the optimizer runs on the device"));
  text += '\n' + shard_table(report).text(width);
  if (report.shards.size() > kMostShards) {
    text += fmt::format(
        "... and {}; --json has all\n",
        count_of(static_cast<std::int64_t>(report.shards.size() - kMostShards), "shard"));
  }
  const RankEvaluation& rank = prediction.ranks.front();
  text += '\n' + add(fmt::format("Device: {} of {} GiB, two slots and the activations of a shard "
                                 "among them",
                                 gib(rank.memory.total()), gib(rank.capacity)));
  text += add(fmt::format(
      "Host: {} of {} GiB, page-locked; a step loads {} GiB and copies {} GiB "
      "back",
      gib(report.host), gib(report.host_memory), gib(report.loaded), gib(report.stored)));
  for (const std::string& note : report.notes) text += add(note);
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
  return json.set("notes", strings(report.notes));
}

}  // namespace penstock
