#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/environment.h"
#include "cli/parse.h"
#include "cli/profiling.h"
#include "core/error.h"
#include "profiler/memory_bandwidth.h"
#include "profiler/torch/matmul_load.h"
#include "runtime_bridge/launcher.h"
#include "runtime_bridge/torch/rank_device.h"
#include "training/gloo/gloo_transport.h"
#include "training/gloo/tcp_store.h"
#include "training/pin_to_processor.h"
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
  question.recompute = request.recompute;
  question.every_section = request.every_section;
  question.splits = request.splits;
  question.rule.error = request.error;
  question.budget = request.budget;
  return question;
}

LinkSamples measure_links_here(const ProfileRequest& request, Transport& transport,
                               ProfilingProgress& progress) {
  LinkPlan plan;
  plan.largest = request.largest_message;
  plan.budget = request.budget;
  // Larger than the caches, so that messages come from memory.
  constexpr std::int64_t kPool = std::int64_t{192} << 20;
  std::vector<float> memory(
      static_cast<std::size_t>(std::max(kPool, 2 * request.largest_message.count)) / sizeof(float),
      1.0F);
  Buffer pool;
  pool.data = reinterpret_cast<std::byte*>(memory.data());
  pool.elements = memory.size();
  pool.type = ElementType::kFloat32;
  return measure_links(transport, pool, plan, request.busy_links ? matmul_load() : LinkLoad{},
                       progress);
}

// "cuda:2" is that one; "cuda" a rank's own.
int gpu_of(const std::string& device, const LaunchEnvironment& place) {
  const std::size_t colon = device.find(':');
  return colon == std::string::npos ? place.local_rank
                                    : parse_int("--device", device.substr(colon + 1), 0, 1024);
}

// Ranks that are there for links only stand by.
std::optional<ModelSamples> sections_of(const ProfileRequest& request, Transport* transport,
                                        ProfilingProgress& progress, int gpu) {
  const RanksBeside beside{.job = transport, .ranks = 1 + request.beside};
  if (beside.rank() >= beside.ranks) return std::nullopt;
  const std::unique_ptr<Device> device = make_rank_device(request.device, gpu);
  return measure_model(question_of(request), *device, progress, beside);
}

}  // namespace

void check_profiling(const ProfileRequest& request) { require_device(request.device); }

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
  const std::unique_ptr<Transport> transport = transport_of(place);
  pin_to_processor(place.local_rank);
  Measured measured;
  measured.library = library_name();
  measured.device = words_of_device(request.device);
  measured.reserve = resident_memory();
  measured.gigaflops = matmul_gigaflops();
  if (request.model)
    measured.sections =
        sections_of(request, transport.get(), progress, gpu_of(request.device, place));
  if (request.links) {
    measured.links = measure_links_here(request, *transport, progress);
    if (place.rank == 0) measured.memory_bandwidth = measure_memory_bandwidth();
  }
  if (transport) transport->barrier();
  if (place.rank > 0) return std::nullopt;
  return measured;
}

}  // namespace penstock
