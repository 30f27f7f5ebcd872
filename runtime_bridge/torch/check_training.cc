// What makes a job impossible is said before any rank starts. Where ranks send through NCCL, that
// includes lists of messages that could deadlock: it buffers nothing.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/values/error.h"
#include "runtime_bridge/plan_support.h"
#include "runtime_bridge/rank_program.h"
#include "runtime_bridge/rendezvous_lists.h"
#include "runtime_bridge/spilled_budget.h"
#include "runtime_bridge/torch/rank_device.h"
#include "runtime_bridge/torch/train_rank.h"

namespace penstock {
namespace {

void require_spilled_job(const TrainJob& job) {
  const bool spills = std::ranges::any_of(
      job.plans, [](const PlanFromStep& each) { return is_spilled(*each.plan); });
  const bool offloads = job.plans.front().plan->plan.offload_optimizer;
  if (!spills) {
    if (job.options.host_bandwidth && !offloads) {
      throw_bad_input(
          "--host-gb-per-s: the plan keeps all weights on the device\nhelp: leave it out, or plan "
          "with --spill");
    }
    if (job.options.pilot_margin) {
      throw_bad_input(
          "--pilot: the plan keeps all weights on the device\nhelp: leave it out, or plan with "
          "--spill");
    }
    return;
  }
  if (job.plans.size() > 1) {
    throw_bad_input(
        "--then: a run cannot change to or from a spilled plan\nhelp: continue under another plan "
        "with "
        "--checkpoints and --resume");
  }
  if (!job.options.data.documents.empty()) {
    throw_bad_input(
        "--documents: every step has its own plan, and a run cannot change from a spilled "
        "plan\nhelp: train with --data, or plan without --spill");
  }
  if (job.options.evaluation.every > 0) {
    throw_bad_input(
        "--eval-every: a spilled plan cannot evaluate during the run\nhelp: evaluate its "
        "checkpoints under a plan without --spill");
  }
  if (job.options.host_bandwidth && job.options.device != "cpu") {
    throw_bad_input(
        "--host-gb-per-s: it is for ranks on the CPU; the link of a GPU has its own speed\nhelp: "
        "leave it out");
  }
  std::ifstream meminfo("/proc/meminfo");
  std::stringstream text;
  text << meminfo.rdbuf();
  require_host_memory(spilled_budget(*job.plans.front().plan).host, text.str());
}

// The state is allocated once, on the host or on the device.
void require_offloading_job(const TrainJob& job) {
  const auto offloads = [](const PlanFromStep& each) { return each.plan->plan.offload_optimizer; };
  if (std::ranges::none_of(job.plans, offloads)) return;
  if (!std::ranges::all_of(job.plans, offloads)) {
    throw_bad_input(
        "--then: a run cannot change between plans with the optimizer on the host and plans "
        "without\nhelp: continue under another plan with --checkpoints and --resume");
  }
  if (!job.options.data.documents.empty()) {
    throw_bad_input(
        "--documents: plans of steps keep the optimizer on the devices, and this plan does "
        "not\nhelp: train with --data, or plan without offload=optimizer");
  }
  if (job.options.device != "cpu") {
    throw_bad_input(
        "--device " + job.options.device +
        ": LibTorch ranks keep the optimizer on the host beside CPUs only\nhelp: train on CPUs, or "
        "plan without offload=optimizer");
  }
}

}  // namespace

void check_training(const TrainJob& job) {
  require_device(job.options.device);
  const bool of_documents = !job.options.data.documents.empty();
  if (job.options.data.files.empty() && !of_documents) {
    throw_bad_input(
        "--data: there is nothing to train on\nhelp: name a text file, whose bytes are the tokens, "
        "or files of token ids; or documents with --documents");
  }
  require_one_run(job.plans);
  require_spilled_job(job);
  require_offloading_job(job);
  for (const PlanFromStep& planned : job.plans) {
    require_tensors(*planned.plan, of_documents);
    const std::vector<RankProgram> programs =
        rank_programs(*planned.plan, model_of(*planned.plan), job.options.training);
    if (job.options.transport != TransportKind::kNccl) continue;
    // NCCL buffers nothing: ranks that wait for each other would do so until the time-out.
    const std::string wrong = check_rendezvous(rendezvous_lists(programs));
    if (!wrong.empty()) {
      throw_bad_input("--transport nccl: " + planned.path + ": " + wrong +
                      "\nhelp: choose another schedule, or --transport gloo");
    }
  }
}

}  // namespace penstock
