#include "search/refuse_request.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/values/error.h"
#include "costmodel/price_stages.h"
#include "search/device_cluster.h"
#include "search/in_parallel.h"
#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

void refuse_pins(const Pins& pins) {
  const auto refuse = [](const char* name, const std::optional<int>& pin) {
    if (!pin || *pin >= 1) return;
    throw_bad_input("--pin " + std::string(name) + "=" + std::to_string(*pin) +
                    ": must be at least 1");
  };
  refuse("P", pins.pipeline);
  refuse("V", pins.chunks);
  refuse("D", pins.data);
  refuse("T", pins.tensor);
  refuse("C", pins.context);
  refuse("EP", pins.expert);
  refuse("ETP", pins.expert_tensor);
  refuse("b", pins.micro_batch_size);
}

}  // namespace

void refuse_request(const PlanInputs& inputs, const SearchRequest& request) {
  const int devices = device_count(*inputs.cluster);
  if (request.gpus < 1) {
    throw_bad_input("--gpus " + std::to_string(request.gpus) + ": at least one is needed");
  }
  if (request.gpus > devices) {
    throw_bad_input("--gpus " + std::to_string(request.gpus) + ": cluster '" +
                    inputs.cluster->name + "' has only " + std::to_string(devices) + " devices");
  }
  if (request.global_batch < 1) {
    throw_bad_input("--global-batch " + std::to_string(request.global_batch) +
                    ": at least one sample per step is needed");
  }
  if (request.top < 1) {
    throw_bad_input("--top " + std::to_string(request.top) + ": at least one plan is to be shown");
  }
  if (request.threads < 1 || request.threads > kMostThreads) {
    throw_bad_input("--threads " + std::to_string(request.threads) + ": must be 1 to " +
                    std::to_string(kMostThreads));
  }
  refuse_pins(request.pins);
  if (request.pins.offload == true && request.trainer != nullptr &&
      !request.trainer->offloads_optimizer) {
    throw_bad_input("--pin offload=optimizer: " + request.trainer->title +
                    " keeps the optimizer's state on its devices\nhelp: leave offload out, or plan "
                    "for another trainer");
  }
  if (request.pins.offload == true && request.pins.sharding == Sharding::kFsdp) {
    throw_bad_input(
        "--pin offload=optimizer: FSDP keeps its master weights with the parameters\n"
        "help: take --sharding zero1, or leave offload out");
  }
  if (const int expert = request.pins.expert.value_or(1);
      expert > 1 && !has_experts(*inputs.profile)) {
    throw_bad_input("--pin EP=" + std::to_string(expert) + ": model '" + inputs.profile->name +
                    "' has no experts\nhelp: leave EP out, or give a model with experts");
  }
  for (const std::string& name : request.pins.schedules) {
    if (find_schedule(name) == nullptr) static_cast<void>(make_schedule(name, {}));  // names them
  }
  const auto known = device_types_in_use(*inputs.cluster);
  if (request.pins.device &&
      std::find(known.begin(), known.end(), *request.pins.device) == known.end()) {
    static_cast<void>(device_cluster(*inputs.cluster, *request.pins.device, {}));
  }
}

}  // namespace penstock
