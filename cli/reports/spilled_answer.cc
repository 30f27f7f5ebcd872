// The host is what the options say, else the cluster's, else that of the datasheet of the device's
// name. The plan file is checked before anything is said.
#include "cli/reports/spilled_answer.h"

#include <utility>

#include <fmt/format.h>

#include "cli/io/report_command.h"
#include "cli/io/write_output.h"
#include "cli/options/options.h"
#include "cli/options/question.h"
#include "cli/reports/known_host.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "core/check/check.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "costmodel/price_stages.h"
#include "report/result_json.h"
#include "report/spill_report.h"
#include "report/words.h"
#include "search/device_cluster.h"
#include "spilling/spilled_plan.h"

namespace penstock {
namespace {

// What `profile` calls the device type of a machine without GPUs; the host is then the same.
constexpr const char* kCpu = "cpu";

std::string device_of(const Question& question) {
  if (question.request.pins.device) return *question.request.pins.device;
  return device_types_in_use(question.cluster.value).front();
}

KnownHost host_asked(const Question& question, const SpillOptions& options,
                     const std::string& device) {
  std::optional<KnownHost> known = known_host(question, device);
  if (!known && !(options.host_gib && options.host_bandwidth)) {
    bad_option("--spill", fmt::format("nothing is known of the host of a node with {}", device),
               "give --host-gib and --host-gb-per-s, or \"host\" of the node type in the cluster "
               "file");
  }
  KnownHost host = known.value_or(KnownHost{});
  if (options.host_gib) host.host.memory = parse_gib("--host-gib", *options.host_gib);
  if (options.host_bandwidth) {
    host.host.bandwidth = {parse_number("--host-gb-per-s", *options.host_bandwidth, 1e-3, 1e4) *
                           1e9};
    host.from = "--host-gb-per-s";
  }
  return host;
}

// Of a profile of CPUs the optimizer was measured where it runs, on one thread.
std::optional<HostOptimizer> measured_optimizer(const ModelProfile& profile,
                                                const std::string& device) {
  const TrainingState& training = profile.training;
  if (device != kCpu || !training.optimizer_ps_per_parameter) return std::nullopt;
  return HostOptimizer{static_cast<double>(*training.optimizer_ps_per_parameter),
                       static_cast<double>(training.norm_ps_per_parameter)};
}

SpillQuestion spill_question(const Question& question, const std::string& device,
                             const HostOfNode& host) {
  SpillQuestion asked;
  asked.inputs = question.inputs();
  asked.device = device;
  asked.host = host;
  asked.optimizer = measured_optimizer(question.profile.value, device).value_or(HostOptimizer{});
  asked.global_batch = question.request.global_batch;
  asked.sequence_length = question.request.sequence_length > 0
                              ? question.request.sequence_length
                              : default_sequence_length(question.profile.value, device);
  asked.micro_batch_size = question.request.pins.micro_batch_size;
  return asked;
}

std::vector<int> listed_shards(const std::string& typed) {
  const std::vector<std::string> words = parse_list("--shards", typed);
  std::vector<int> last;
  last.reserve(words.size());
  for (const std::string& each : words) {
    last.push_back(parse_int("--shards", each, 0));
  }
  return last;
}

std::string partition_words(const std::string& partitioner) {
  if (partitioner == "listed") return "--shards";
  return partitioner == "pilot" ? "the greedy partition" : "the best partition";
}

std::string update_note(const Question& question, const SpilledPlan& plan) {
  const bool clips = plan.file.executor.optimizer == OptimizerGate::kGlobalBarrier;
  const auto measured = measured_optimizer(question.profile.value, plan.file.plan.device);
  return fmt::format("{}: the host updates a billion parameters in {} s{}, {}.",
                     measured ? "Measured by the profile, on one thread" : "Assumed",
                     significant(measured.value_or(HostOptimizer{}).update * 1e-3, 2),
                     measured ? "" : ", as ZeRO-Offload's Adam does",
                     clips
                         ? "all of them behind the last copy back, since gradients are clipped"
                         : "beside the copies back; clipping by the global norm (--clipping) puts "
                           "all updates behind the last of them");
}

std::vector<std::string> notes_of(const Question& question, const SpilledPlan& plan,
                                  const KnownHost& host) {
  std::vector<std::string> notes;
  notes.push_back(
      fmt::format("Host link: {} GB/s, {}; {}.", significant(host.host.bandwidth.value / 1e9, 4),
                  host.host.duplex ? "both ways at once" : "shared by both directions", host.from));
  if (plan.update == UpdatePlace::kHost) notes.push_back(update_note(question, plan));
  return notes;
}

SpillReport report_of(const Question& question, const SpilledPlan& plan, const KnownHost& host) {
  SpillReport report;
  report.file = &plan.file;
  report.question = fmt::format("{} on one {}, gbs {}", question.profile.value.name,
                                plan.file.plan.device, plan.file.plan.global_batch);
  if (plan.file.plan.sequence_length > 0) {
    report.question += fmt::format(", sequence length {}", plan.file.plan.sequence_length);
  }
  report.shards.reserve(plan.shards.size());
  for (std::size_t s = 0; s < plan.shards.size(); ++s) {
    const SpilledShard& shard = plan.shards[s];
    const auto name = [&](int section) {
      return plan.file.section_names[static_cast<std::size_t>(section)];
    };
    report.shards.push_back({name(shard.first), name(shard.end - 1), shard.end - shard.first,
                             shard.state, shard.time.forward,
                             shard.time.back(s + 1 == plan.shards.size()), shard.time.load,
                             shard.time.store});
  }
  for (const SpilledUnit& unit : units_of_step(plan)) {
    const char* kind = unit.forward ? (unit.backward ? "FB" : "F") : "B";
    report.units.push_back({kind, unit.pass, unit.shard, unit.in, unit.out, unit.compute});
  }
  report.partition = partition_words(plan.partitioner);
  report.passes = plan.passes;
  report.updates_on_host = plan.update == UpdatePlace::kHost;
  report.compute = plan.compute;
  report.closed_form = plan.closed_form;
  report.with_reloads = step_with(plan, Buffering::kReload);
  report.with_one_slot = step_with(plan, Buffering::kOne);
  report.loading = plan.loading;
  report.hidden = plan.hidden;
  report.host = plan.host;
  report.host_memory = host.host.memory;
  report.loaded = plan.loaded;
  report.stored = plan.stored;
  report.notes = notes_of(question, plan, host);
  return report;
}

void require_sound(const PlanFile& file) {
  const CheckReport checked = check(file);
  if (checked.findings.empty()) return;
  throw Error(ErrorKind::kInternal,
              "the spilled plan does not hold: " + checked.findings.front().place + ": " +
                  checked.findings.front().message);
}

PlanFile complete(const Question& question, PlanFile file) {
  file.tool_version = version();
  file.profile = question.profile.file;
  file.cluster_file = question.cluster.file;
  return file;
}

Json json_of(const Question& question, const SpillReport& report) {
  Json json = answer_json("plan");
  set_question(json, question);
  return json.set("spilled", spill_json(report));
}

}  // namespace

void SpillOptions::declare(Options& options) {
  options.heading("A model that does not fit");
  options.flag("--spill",
               "on one GPU: keep the model on the host, and two shards of it on the GPU at a time",
               spill);
  options.flag(
      "--clipping",
      "with --spill: updates wait for the norm over all gradients, so that train --clip-norm "
      "can clip them",
      clips);
  options.option("--shards", "I,J,...",
                 "with --spill: the last section of every shard, instead of a search", shards);
  options.option("--host-gib", "X",
                 "with --spill: memory of the host; default: the cluster's, or the datasheet's",
                 host_gib);
  options.option("--host-gb-per-s", "X",
                 "with --spill: between the GPU and the host, one direction; default: the same",
                 host_bandwidth);
}

std::vector<std::string> SpillOptions::names() {
  return {"--clipping", "--shards", "--host-gib", "--host-gb-per-s"};
}

Answer spilled_answer(const Question& question, const SpillOptions& options,
                      const std::optional<std::string>& output, TableFormat format, bool in_full,
                      Screen screen) {
  const std::string device = device_of(question);
  const KnownHost host = host_asked(question, options, device);
  SpillQuestion asked = spill_question(question, device, host.host);
  asked.clips = options.clips;
  if (options.shards) asked.last_sections = listed_shards(*options.shards);
  SpillAnswer answer = spill(asked);
  if (!answer.plan) {
    return report_answer(wrapped(fmt::format("{} does not fit on one {} with spilling: {}",
                                             question.profile.value.name, device, answer.why_not),
                                 screen.width(), "", "  "),
                         kNo);
  }
  SpilledPlan& plan = *answer.plan;
  require_sound(plan.file);
  plan.file = complete(question, std::move(plan.file));
  const SpillReport report = report_of(question, plan, host);
  const std::string file = output ? to_text(write_plan(plan.file)) + '\n' : std::string();
  if (output && *output == "-") return {file};
  if (output) write_output(*output, file);
  if (format == TableFormat::kJson) return json_answer(json_of(question, report));
  std::string text = spill_text(report, screen, in_full);
  if (output) {
    text += fmt::format("\nThe plan is in {0}; next: penstock train --spill {0} --data FILE\n",
                        shell_word(*output));
  }
  return report_answer(std::move(text));
}

std::optional<HostOfNode> host_known(const Question& question) {
  const std::optional<KnownHost> known = known_host(question, device_of(question));
  return known ? std::optional(known->host) : std::nullopt;
}

std::optional<SpilledPlan> spilled_on(const Question& question, const HostOfNode& host) {
  return spill(spill_question(question, device_of(question), host)).plan;
}

std::string spill_remedy(const Question& question) {
  // Whoever has more than a node is not helped by one GPU, and long batches take seconds to plan.
  constexpr int kMostGpus = 8;
  if (question.request.gpus > kMostGpus) return "";
  const std::string device = device_of(question);
  const std::optional<KnownHost> host = known_host(question, device);
  if (!host) return "";
  const SpillAnswer answer = spill(spill_question(question, device, host->host));
  if (!answer.plan) return "";
  return fmt::format("On one GPU it {} (--gpus 1 --spill).",
                     spill_remedy_text(report_of(question, *answer.plan, *host)));
}

}  // namespace penstock
