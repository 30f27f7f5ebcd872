// `penstock profile`: this process starts the ranks, or is one of them; rank 0 has the results and
// writes the files. Ctrl-C keeps what has been measured, and the exit code says that it is not all.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/io/environment.h"
#include "cli/io/files.h"
#include "cli/io/gpu_report.h"
#include "cli/io/profile_report.h"
#include "cli/io/watched_profiling.h"
#include "cli/options/options.h"
#include "cli/options/profile_options.h"
#include "cli/parts/model_cutpoints.h"
#include "cli/parts/profiling.h"
#include "cli/parts/torch_program.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "core/files/format.h"
#include "core/values/json_reader.h"
#include "profiler/activity_file.h"
#include "profiler/build_cluster.h"
#include "profiler/build_profile.h"
#include "profiler/gpu_reserve.h"
#include "profiler/merge_profiles.h"
#include "report/json_array.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock profile gpt --layers 8 --hidden 256 --positions 128 -o profile.json
  penstock profile gpt --layers 8 --hidden 256 --positions 128 --micro-batch-sizes 8 \
      --resume profile.json
  penstock profile gpt --links -o profile.json --cluster-out cluster.json
  penstock profile --links --participants 4 --cluster-out cluster.json
  penstock profile models/gpt2/config.json --sequence-length 256 --recompute none,full -o gpt2.json
  penstock profile gpt --device cuda --micro-batch-sizes 1 --record activity.json
)";
// What LibTorch reaches on one core with OpenBLAS is several times this; with the reference BLAS, a
// fraction of it.
constexpr double kSlowGigaflops = 20.0;
// Counted bytes per parameter may hold some padding.
constexpr double kStateTolerance = 0.05;

struct Outputs {
  std::optional<std::string> profile, cluster, resume, record;
  bool json = false, cluster_busy = false;
};

// What all of it comes to: files, and sentences about what was odd.
struct Results {
  std::optional<ModelProfile> profile;
  std::optional<ClusterSpec> cluster;
  std::vector<std::string> notes;
};

std::string provenance_of(const ProfileRequest& request, const Measured& measured,
                          const Machine& machine) {
  return fmt::format("penstock {} with {} on {}{}{}, {}; one thread per rank{}", version(),
                     measured.library, machine.host,
                     machine.processor.empty() ? "" : ", " + machine.processor,
                     measured.gpu ? ", " + measured.device : "", today(),
                     request.model && request.beside > 0
                         ? fmt::format(", {} beside", count_of(request.beside, "rank"))
                         : "");
}

// Whether what was counted is what the formula says.
void check_state(const ModelSamples& samples, const TrainingState& state,
                 std::vector<std::string>& notes) {
  const auto expected = static_cast<double>(
      (state.bytes_per_parameter + state.bytes_per_gradient + state.optimizer_bytes_per_parameter)
          .count);
  const double counted = samples.state_bytes_per_parameter;
  if (counted > expected * (1.0 - kStateTolerance) &&
      counted < expected * (1.0 + kStateTolerance)) {
    return;
  }
  notes.push_back(fmt::format(
      "weights, gradients and optimizer state take {} bytes per parameter; {} were expected",
      significant(counted, 3), significant(expected, 3)));
}

void add_trace_notes(const ModelSamples& samples, std::vector<std::string>& notes) {
  for (const std::string& size : samples.not_traced) {
    notes.push_back("not traced, because the run was stopped first: " + size);
  }
  for (const TraceSamples& trace : samples.traces) {
    if (trace.why_void.empty()) continue;
    notes.push_back(fmt::format("void, and in no profile: b = {}, recompute {}: {}",
                                trace.micro_batch_size, trace.recompute, trace.why_void));
  }
}

bool any_is_void(const ModelSamples& samples) {
  return std::ranges::any_of(samples.traces,
                             [](const TraceSamples& trace) { return !trace.why_void.empty(); });
}

void add_profile(const ProfileRequest& request, const Measured& measured, const Machine& machine,
                 const Outputs& outputs, Results& results) {
  const ModelSamples& samples = *measured.sections;
  for (const std::string& remark : samples.remarks) results.notes.push_back(remark);
  for (const std::string& section : samples.not_split) {
    results.notes.push_back("backward not split: " + section + "; its I includes the work of W");
  }
  for (const std::string& size : samples.not_measured) {
    results.notes.push_back("not measured: " + size);
  }
  add_trace_notes(samples, results.notes);
  if (samples.chains.empty()) return;
  MeasuredModel model;
  model.name = request.name;
  model.description = *request.model;
  model.description.division = samples.division;
  model.outline = samples.outline;
  model.device = request.device_type;
  model.provenance = provenance_of(request, measured, machine);
  model.chains = samples.chains;
  model.chain_parameters = samples.chain_parameters;
  results.profile = build_profile(model);
  check_state(samples, results.profile->training, results.notes);
  for (std::string& note : odd_times(samples.chains, 2.0 * request.error)) {
    results.notes.push_back(std::move(note));
  }
  if (outputs.resume) {
    results.profile =
        merge_profiles(load_profile(*outputs.resume).value, *results.profile, *outputs.resume);
  }
}

// A GPU without links to others is a cluster of its own.
void describe_devices(const ProfileRequest& request, const Measured& measured,
                      const Machine& machine, MachineToDescribe& description) {
  if (measured.gpu) {
    description.devices = measured.links ? std::max(measured.gpu->gpus, request.participants) : 1;
    description.memory_per_device = measured.gpu->memory;
    return;
  }
  description.devices = std::max(machine.processors, request.participants);
  description.memory_per_device = {machine.memory.count / description.devices};
}

void add_cluster(const ProfileRequest& request, const Measured& measured, const Machine& machine,
                 const Outputs& outputs, Results& results) {
  if (measured.memory_bandwidth.value <= 0.0) {
    results.notes.emplace_back(
        "no cluster file: the run was stopped before copies within the device were measured");
    return;
  }
  MachineToDescribe description;
  description.name = machine.host;
  description.device = request.device_type;
  describe_devices(request, measured, machine, description);
  description.reserve = measured.reserve;
  std::string reserve;
  if (measured.gpu) {
    const std::vector<ReservePart> parts = gpu_reserve(measured.reserve, measured.gpu->gpus);
    description.reserve = sum_of(parts);
    reserve = "; reserve: " + in_words(parts);
  }
  description.memory_bandwidth = measured.memory_bandwidth;
  description.level = measured.link_level;
  if (measured.executor) {
    description.executor = measured.executor;
    description.executor->trainer = "penstock";
  }
  description.provenance = provenance_of(request, measured, machine) +
                           (outputs.cluster_busy ? "; links while all ranks compute" : "") +
                           reserve;
  BuiltCluster built = build_cluster(description, measured.links.value_or(LinkSamples{}),
                                     outputs.cluster_busy, LinkStatistic::kQuarter);
  results.cluster = std::move(built.cluster);
  for (std::string& note : built.notes) results.notes.push_back(std::move(note));
  if (measured.links && !measured.links->complete) {
    results.notes.emplace_back("the budget ended before the largest messages were measured");
  }
}

Results results_of(const ProfileRequest& request, const Measured& measured,
                   const Outputs& outputs) {
  const Machine machine = this_machine();
  Results results;
  for (const std::string& difference : request.model_notes) {
    results.notes.push_back("the built-in model has no " + difference);
  }
  results.notes.insert(results.notes.end(), request.notes.begin(), request.notes.end());
  if (measured.gigaflops < kSlowGigaflops) {
    results.notes.push_back(
        fmt::format("matrix products run at {} GFLOP/s on one core, as slowly as with the "
                    "reference BLAS; apt-get install libopenblas0-pthread",
                    significant(measured.gigaflops, 2)));
  }
  results.notes.insert(results.notes.end(), measured.notes.begin(), measured.notes.end());
  if (measured.sections) add_profile(request, measured, machine, outputs, results);
  if (request.links) add_cluster(request, measured, machine, outputs, results);
  return results;
}

std::vector<std::string> names_of(const ModelSamples& samples) {
  std::vector<std::string> names;
  names.reserve(samples.outline.sections.size());
  for (const SectionOutline& section : samples.outline.sections) names.push_back(section.name);
  return names;
}

Json json_of(const Measured& measured, const Results& results) {
  Json json = answer_json("profile");
  json.set("tool_version", std::string(version()));
  if (results.profile) json.set("profile", write_profile(*results.profile));
  if (results.cluster) json.set("cluster", write_cluster(*results.cluster));
  if (measured.links) json.set("links", links_json(*measured.links));
  if (measured.gpu && !measured.gpu->copies.empty()) {
    json.set("copies", copies_json(measured.gpu->copies));
  }
  if (measured.sections && !measured.sections->traces.empty()) {
    json.set("traces", traces_json(measured.sections->traces, names_of(*measured.sections)));
  }
  return json.set("notes", strings(results.notes));
}

// Of the first size; all run the same optimizer.
std::string optimizer_text(const ModelSamples& samples) {
  if (samples.chains.empty()) return "";
  const auto per_parameter = [&](const SampleSummary& summary) {
    return with_commas(summary.median.count() * 1000 /
                       std::max<std::int64_t>(samples.chain_parameters, 1));
  };
  const ChainSamples& chain = samples.chains.front();
  return fmt::format("\nOptimizer step: {} ps per parameter; gradient norm: {} ps\n",
                     per_parameter(chain.optimizer), per_parameter(chain.norm));
}

std::string report_of(const ProfileRequest& request, const Measured& measured,
                      const Results& results, Screen screen) {
  std::string text;
  if (measured.sections) {
    text += fmt::format("{} on {}: {}\n\n", request.name, request.device_type,
                        count_of(std::ssize(measured.sections->outline.sections), "section"));
    text += sections_report(measured.sections->chains, screen);
    text += optimizer_text(*measured.sections);
    const std::string traces =
        traces_report(measured.sections->traces, measured.sections->chains, screen);
    if (!traces.empty()) text += '\n' + traces;
  }
  if (measured.links) text += (text.empty() ? "" : "\n") + links_report(*measured.links, screen);
  if (measured.gpu && !measured.gpu->copies.empty()) {
    text += (text.empty() ? "" : "\n") + copies_report(measured.gpu->copies, screen);
  }
  if (!results.notes.empty()) text += "\nNotes:\n";
  text += wrapped(results.notes, screen.width(), "  - ", "    ");
  return text;
}

// Of a void trace as well: it shows what belongs to no section.
std::string write_recording(const Measured& measured, const Outputs& outputs) {
  if (!outputs.record || !measured.sections || measured.sections->recordings.empty()) return "";
  write_file(*outputs.record,
             to_text(write_activity(measured.sections->recordings.front())) + '\n');
  return fmt::format("\nrecorded what the GPU did: {}\n", *outputs.record);
}

std::string write_files(const Measured& measured, const Results& results, const Outputs& outputs) {
  std::string text = write_recording(measured, outputs);
  if (results.profile && outputs.profile && *outputs.profile != "-") {
    write_file(*outputs.profile, to_text(write_profile(*results.profile)) + '\n');
    text += fmt::format("\n{} holds the profile; next: penstock plan {} --cluster FILE\n",
                        *outputs.profile, *outputs.profile);
  }
  if (results.cluster && outputs.cluster) {
    write_file(*outputs.cluster, to_text(write_cluster(*results.cluster)) + '\n');
    text += fmt::format("\n{} holds the cluster\n", *outputs.cluster);
  }
  return text;
}

// Which rank this process is. Launchers leave their variables also where nobody wants ranks, so
// only those of torchrun's language count, which is that of our own ranks.
std::optional<LaunchEnvironment> place_of(const Environment& environment) {
  if (environment.find("RANK") == environment.end()) return std::nullopt;
  return read_launch_environment(environment);
}

Answer run_rank(ProfileRequest request, const LaunchEnvironment& place, const Outputs& outputs,
                Screen screen) {
  if (place.rank > 0) {
    std::signal(SIGINT, SIG_IGN);  // rank 0 says when it is over
    ProfilingProgress silent;
    static_cast<void>(measure_as_rank(request, place, silent));
    return {};
  }
  std::optional<Measured> measured;
  bool stopped = false;
  {
    WatchedProfiling progress;
    measured = measure_as_rank(request, place, progress);
    stopped = progress.was_stopped();
  }
  if (request.device_type.empty()) {
    request.device_type = measured->device.substr(0, measured->device.find(','));
  }
  const Results results = results_of(request, *measured, outputs);
  const bool incomplete =
      stopped || (measured->sections &&
                  (!measured->sections->not_measured.empty() || any_is_void(*measured->sections)));
  const int exit = incomplete ? kStopped : kYes;
  const std::string files = write_files(*measured, results, outputs);
  if (outputs.profile && *outputs.profile == "-" && results.profile) {
    return json_answer(write_profile(*results.profile), exit);
  }
  if (outputs.json) return json_answer(json_of(*measured, results), exit);
  return report_answer(report_of(request, *measured, results, screen) + files, exit);
}

// What only a GPU has a tracer for, and a file holds one size of.
void check_tracing(const ProfileRequest& request, const Outputs& outputs) {
  const char* const option = outputs.record ? "--record" : "--no-trace";
  if (!outputs.record && request.trace) return;
  if (request.device == "cpu") {
    bad_option(option, "tracing is for GPUs; work on a CPU is only timed",
               "give --device cuda, or leave it out");
  }
  if (!request.model)
    bad_option(option, "without a model there is nothing to trace", "name a model");
  if (!outputs.record) return;
  if (!request.trace) bad_option(option, "--no-trace turns tracing off", "leave out --no-trace");
  if (request.micro_batch_sizes.size() * request.recompute.size() > 1 ||
      request.sequence_lengths.size() > 1) {
    bad_option(
        option, "a recording holds one size, but several are measured",
        "give one of --micro-batch-sizes, one --sequence-length and one mode of --recompute");
  }
}

void check_outputs(const ProfileRequest& request, Outputs& outputs) {
  check_tracing(request, outputs);
  if (outputs.cluster && !request.links) {
    bad_option("--cluster-out", "no links are measured", "add --links");
  }
  if (outputs.cluster_busy && !request.busy_links) {
    bad_option("--cluster-busy", "links are not measured while ranks compute", "add --busy-links");
  }
  if ((outputs.profile || outputs.resume) && !request.model) {
    bad_option("MODEL", "without a model there is no profile to write",
               "leave out -o and --resume, or name a model");
  }
  if (outputs.resume && !outputs.profile) outputs.profile = outputs.resume;
  if (!outputs.resume) return;
  // Said before minutes of measuring rather than after; what only the model itself can tell follows
  // in merge_profiles().
  if (!is_same_model(load_profile(*outputs.resume).value.description, request.model)) {
    bad_option("--resume", fmt::format("{} describes another model", *outputs.resume),
               "give the MODEL and the options of that profile, or leave out --resume");
  }
}

}  // namespace

Answer run_profile(const Arguments& arguments, Screen screen) {
  ProfileOptions given;
  Outputs outputs;
  bool no_trace = false;
  Options options("profile MODEL [OPTIONS]",
                  "Measures the sections of a model on this machine as a training run executes "
                  "them: forward, input and weight gradient, fused backward, recompute, memory and "
                  "the optimizer step; with --links also transfers and collectives. Writes the "
                  "profile and the cluster that `penstock plan` reads. See docs/profiling.md.",
                  kExamples);
  given.declare(options);
  options.option("--cluster-out", "FILE", "write this machine with its links as a cluster file",
                 outputs.cluster);
  options.flag("--cluster-busy", "use the link times that were measured while all ranks compute",
               outputs.cluster_busy);
  options.heading("On a GPU");
  options.option(
      "--record", "FILE",
      "write everything that the GPU did while one size was traced (penstock.activity/1)",
      outputs.record);
  options.flag("--no-trace", "skip the check that all GPU work belongs to a section", no_trace);
  options.heading("What to print");
  options.option("-o,--output", "FILE", "write the profile (- for stdout instead of the report)",
                 outputs.profile);
  options.option("--resume", "FILE",
                 "add to this profile, and replace what is measured again; rewrites the file "
                 "unless -o names another",
                 outputs.resume);
  options.flag("--json", "print the result as one JSON object, with the raw table of links",
               outputs.json);
  options.remark({"region", "zone", "account", "user", "credentials", "sso", "cloud", "provider"},
                 "leave it out: a profile here is a measured model, and no account of a cloud: "
                 "penstock profile gpt -o profile.json measures one, data/profiles has some");
  options.remark({"hosts", "nodes", "hostfile", "nodelist", "machines", "nnodes", "num-nodes",
                  "host", "node", "hostname", "servers"},
                 "links between nodes are measured where every node takes part: start on each of "
                 "them ({node01,node02}) torchrun --nnodes 2 --nproc-per-node 8 --rdzv-endpoint "
                 "HOST:29500 --no-python penstock profile --links --device cuda --cluster-out "
                 "cluster.json; or run nccl-tests over them: penstock import nccl-tests "
                 "all_reduce.txt --device h100-sxm --gpus 16 -o cluster.json");
  options.remark({"nsys", "nsight", "ncu", "nvprof", "nsys-rep", "nsight-report", "rocprof"},
                 "what Nsight records is not read: this verb measures by itself; a run's log or a "
                 "folder of PyTorch's traces is compared by penstock validate plan.json RUN, and a "
                 "step time is told by penstock predict config.json --device h100-sxm --layout "
                 "\"TP=4 PP=4 DP=2 mbs=1 gbs=64\" --measured 4.2s");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  given.require_device_here();
  go_on_with_torch();

  ProfileRequest request = given.request(this_machine().processors);
  request.trace = !no_trace;
  request.record = outputs.record.has_value();
  const Environment environment = process_environment();
  const std::optional<LaunchEnvironment> place = place_of(environment);
  // Ranks that are there for links only need nothing of the model.
  if (!place || place->rank <= request.beside) divide_model(request);
  check_outputs(request, outputs);
  if (place) {
    return run_rank(request, *place, outputs, screen);
  }
  check_profiling(request);
  if (request.links) request.participants = link_ranks(request);
  return {"", run_profiling_ranks(arguments, request.ranks(), environment)};
}

}  // namespace penstock
