// The ranks of a profile, on LibTorch: rank 0 measures sections while ranks beside it keep the
// other cores busy, then all of them measure links, over Gloo on the host and over NCCL between
// GPUs. What a machine cannot measure is said in words, with the reason.
#include <algorithm>
#include <cstddef>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/io/environment.h"
#include "cli/parts/gpu_profiling.h"
#include "cli/parts/profiling.h"
#include "cli/words/parse.h"
#include "core/values/error.h"
#include "profiler/link_pool.h"
#include "profiler/memory_bandwidth.h"
#include "profiler/torch/matmul_load.h"
#include "runtime_bridge/launcher.h"
#include "runtime_bridge/measure_executor.h"
#include "runtime_bridge/spilled_budget.h"
#include "runtime_bridge/torch/rank_device.h"
#include "training/gloo/gloo_transport.h"
#include "training/gloo/tcp_store.h"
#include "training/pin_to_processor.h"
#include "training/stage_layout.h"
#include "training/torch/library.h"

namespace penstock {
namespace {

std::unique_ptr<Transport> transport_of(const LaunchEnvironment& place) {
  if (place.ranks == 1) return nullptr;
  GlooOptions options;
  options.rank = place.rank;
  options.ranks = place.ranks;
  options.store = {.host = place.host, .port = place.port, .prefix = place.key_prefix};
  options.serves_store = place.serves_store;
  // A rank beside waits for as long as rank 0 measures one size.
  options.limit = std::chrono::hours(1);
  return make_gloo_transport(options);
}

ModelToMeasure question_of(const ProfileRequest& request) {
  ModelToMeasure question;
  question.model = *request.model;
  question.micro_batch_sizes = request.micro_batch_sizes;
  question.sequence_length = request.sequence_length;
  question.sequence_lengths = request.sequence_lengths;
  question.decoder_lengths = request.decoder_lengths;
  question.recompute = request.recompute;
  question.every_section = request.every_section;
  question.splits = request.splits;
  question.rule.error = request.error;
  question.budget = request.budget;
  question.keeps_recordings = request.record;
  return question;
}

// `device` is where the load computes.
LinkSamples measure_links_here(const ProfileRequest& request, Transport& transport,
                               const LinkPool& pool, const std::string& device, Duration budget,
                               ProfilingProgress& progress) {
  LinkPlan plan;
  plan.largest = request.largest_message;
  // Gradients are reduced in buckets of no more than this.
  plan.at_least = std::min(request.largest_message, Bytes{static_cast<std::int64_t>(kBucketBytes)});
  plan.budget = budget;
  return measure_links(transport, pool.buffer, plan,
                       request.busy_links ? matmul_load(device) : LinkLoad{}, progress);
}

// Messages as they are between stages, up to what the links are measured with.
ExecutorToMeasure executor_question(const ProfileRequest& request) {
  ExecutorToMeasure question;
  constexpr Bytes kLargest{4 << 20};
  for (Bytes bytes{1024}; bytes <= std::min(kLargest, request.largest_message); bytes = 4 * bytes) {
    question.sizes.push_back(bytes);
  }
  // An eighth of what the links may take.
  const auto sizes = static_cast<std::int64_t>(question.sizes.size()) + 1;
  if (request.budget > Duration{}) {
    question.per_size = std::min(question.per_size, request.budget / (8 * sizes));
  }
  return question;
}

void measure_host_links(const ProfileRequest& request, const LaunchEnvironment& place,
                        Transport& transport, ProfilingProgress& progress, Measured& measured) {
  const LinkPool pool = make_host_pool(link_pool_bytes(request.largest_message));
  measured.links = measure_links_here(request, transport, pool, "cpu", request.budget, progress);
  progress.update("what messages cost ranks that compute", 0, 1);
  measured.executor = measure_executor(transport, executor_question(request));
  if (place.rank == 0) measured.memory_bandwidth = measure_memory_bandwidth();
}

// One rank per GPU, the one of its local rank.
void measure_gpu_links(const ProfileRequest& request, const LaunchEnvironment& place, int gpu,
                       GpuProfiling& gpus, Transport& gloo, ProfilingProgress& progress,
                       Measured& measured) {
  gloo.barrier();  // rank 0 may have measured sections for long
  const std::unique_ptr<Transport> nccl = gpus.transport(
      place, connect_store({.host = place.host, .port = place.port, .prefix = place.key_prefix},
                           std::chrono::minutes(5)));
  const LinkPool pool = gpus.pool(link_pool_bytes(request.largest_message));
  measured.links = measure_links_here(request, *nccl, pool, "cuda:" + std::to_string(gpu),
                                      request.budget / 2, progress);
  measured.link_level = "nccl";
}

std::string why_only_copies(const ProfileRequest& request, int gpus) {
  const std::string fact = request.device == "cuda"
                               ? "this machine has " + std::to_string(gpus)
                               : "--device " + request.device + " names one; give --device cuda";
  return "links between GPUs were not measured, only copies: NCCL needs a GPU for each of two "
         "ranks, and " +
         fact;
}

void measure_gpu(const ProfileRequest& request, const LaunchEnvironment& place, int gpu,
                 GpuProfiling& gpus, Transport* gloo, ProfilingProgress& progress,
                 Measured& measured) {
  // With links between GPUs, copies get the other half.
  const bool has_links = request.device == "cuda" && gloo != nullptr;
  if (has_links) {
    measure_gpu_links(request, place, gpu, gpus, *gloo, progress, measured);
  } else {
    measured.notes.push_back(why_only_copies(request, measured.gpu->gpus));
  }
  if (place.rank > 0) return;
  measured.gpu->copies = gpus.copies(request.largest_message, request.busy_links,
                                     has_links ? request.budget / 2 : request.budget, progress);
  const auto is_largest = [&](const CopySample& copy) {
    return !copy.under_load && 2 * copy.bytes > request.largest_message;
  };
  constexpr std::ptrdiff_t kWays = 6;
  if (std::ranges::count_if(measured.gpu->copies, is_largest) < kWays && !progress.stop()) {
    measured.notes.emplace_back(
        "the budget ended before the largest copies of every way were measured");
  }
  measured.memory_bandwidth = memory_bandwidth_of(measured.gpu->copies);
}

// "cuda:2" is that one; "cuda" a rank's own.
int gpu_of(const std::string& device, const LaunchEnvironment& place) {
  const std::size_t colon = device.find(':');
  return colon == std::string::npos ? place.local_rank
                                    : parse_int("--device", device.substr(colon + 1), 0, 1024);
}

// Ranks that are there for links only stand by.
std::optional<ModelSamples> sections_of(const ProfileRequest& request, Transport* transport,
                                        ProfilingProgress& progress, int gpu,
                                        ActivityTracer* tracer) {
  const RanksBeside beside{.job = transport, .ranks = 1 + request.beside};
  if (beside.rank() >= beside.ranks) return std::nullopt;
  const std::unique_ptr<Device> device = make_rank_device(request.device, gpu);
  return measure_model(question_of(request), *device, progress, beside, tracer);
}

// Of rank 0 only, whose sections are measured.
std::unique_ptr<ActivityTracer> tracer_of(const ProfileRequest& request,
                                          const LaunchEnvironment& place, GpuProfiling* gpus,
                                          std::vector<std::string>& notes) {
  if (gpus == nullptr || !request.model || place.rank > 0) return nullptr;
  if (!request.trace) {
    notes.emplace_back(
        "not traced because of --no-trace: it was not checked that all GPU work belongs to a "
        "section");
    return nullptr;
  }
  if (std::string warning = gpus->tracer_warning(); !warning.empty()) {
    notes.push_back(std::move(warning));
  }
  return gpus->tracer();
}

// Of a built-in family on the CPU: an allocation that fails would end a rank without a word, or the
// machine would swap for hours.
void require_memory(const ProfileRequest& request) {
  if (!request.model || request.model->family == ModelFamily::kTorchScript) return;
  if (request.device != "cpu") return;
  std::ifstream file("/proc/meminfo");
  std::stringstream meminfo;
  meminfo << file.rdbuf();
  const std::optional<Bytes> available = available_memory(meminfo.str());
  const Bytes each = state_bytes(chain_of(question_of(request), built_in_outline(*request.model)));
  const int ranks = 1 + request.beside;
  if (!available || Bytes{each.count * ranks} <= *available) return;
  throw Error(
      ErrorKind::kMissingResource,
      "the sections of " + request.name + " that would be run take " + to_text(each) +
          " of weights, gradients and optimizer state on each of " + std::to_string(ranks) +
          (ranks == 1 ? " rank" : " ranks") + ", and this machine has " + to_text(*available) +
          " to give\nhelp: profile on a machine with a GPU and --device cuda, or with more memory" +
          (ranks > 1 && each <= *available ? ", or with --beside 0" : "") +
          "; an estimate without measuring: penstock estimate config.json --device h100-sxm "
          "-o profile.json");
}

}  // namespace

void check_profiling(const ProfileRequest& request) {
  require_device(request.device);
  require_memory(request);
}

int link_ranks(const ProfileRequest& request) {
  const std::unique_ptr<GpuProfiling> gpus = make_gpu_profiling(request.device, 0);
  if (!gpus) return request.participants;
  const int most = request.device == "cuda" ? gpus->gpus() : 1;
  if (most > 1 && request.participants > most) {
    throw Error(
        ErrorKind::kMissingResource,
        "--participants " + std::to_string(request.participants) + ": this machine has " +
            std::to_string(most) +
            " GPUs, and NCCL needs one for each rank\nhelp: ask for no more ranks than GPUs");
  }
  return std::min(request.participants, most);
}

int run_profiling_ranks(const Arguments& arguments, int ranks, const Environment& environment) {
  Arguments all{"profile"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  LaunchOptions options;
  options.ranks = ranks;
  options.environment = environment;
  options.serve = [] {
    std::shared_ptr<StoreServer> server = serve_store(0);
    const int port = server->port();
    return HostedStore{.keeps = std::move(server), .port = port};
  };
  options.start = start_program("/proc/self/exe", all);
  const LaunchResult result = launch(options);
  const std::optional<RankEnd> failure = result.first_failure();
  if (!failure) return kYes;
  if (failure->signal == 0) return failure->exit_code;
  throw Error(ErrorKind::kMissingResource, words_of(*failure));
}

std::optional<Measured> measure_as_rank(const ProfileRequest& request,
                                        const LaunchEnvironment& place,
                                        ProfilingProgress& progress) {
  end_with_launcher(process_environment());
  const int gpu = gpu_of(request.device, place);
  const std::unique_ptr<GpuProfiling> gpus = make_gpu_profiling(request.device, gpu);
  Measured measured;
  // Before anything else uses the GPU, and before its thread would share a processor with ours.
  const std::unique_ptr<ActivityTracer> tracer =
      tracer_of(request, place, gpus.get(), measured.notes);
  // As in a run: the transport's threads share the rank's processor.
  pin_to_processor(place.local_rank);
  const std::unique_ptr<Transport> transport = transport_of(place);
  measured.library = library_name();
  measured.device = words_of_device(request.device);
  measured.reserve = gpus ? gpus->taken_memory() : resident_memory();
  if (gpus)
    measured.gpu = MeasuredGpu{.gpus = gpus->gpus(), .memory = gpus->memory(), .copies = {}};
  measured.gigaflops = matmul_gigaflops();
  if (request.model) {
    measured.sections = sections_of(request, transport.get(), progress, gpu, tracer.get());
  }
  if (request.links && gpus) {
    measure_gpu(request, place, gpu, *gpus, transport.get(), progress, measured);
  } else if (request.links) {
    measure_host_links(request, place, *transport, progress, measured);
  }
  if (transport) transport->barrier();
  if (place.rank > 0) return std::nullopt;
  return measured;
}

}  // namespace penstock
