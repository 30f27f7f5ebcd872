// One JSON file per rank in the shape of PyTorch's profiler, for viewers that read those
// (TensorBoard, HTA, Perfetto). Every action is an annotation with its PyTorch name and, on the
// stream of its lane, a kernel or copy inside it; communication kernels carry the arguments that
// HTA sums by. Times are microseconds with three digits, so no nanosecond is lost.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/values/action_rules.h"
#include "report/traces/trace_files.h"

namespace penstock {
namespace {

// Streams as PyTorch numbers them in practice; HTA wants them >= 1.
constexpr int kComputeStream = 7;
constexpr int kSendStream = 20;
constexpr int kCollectiveStream = 1020;
constexpr int kLoadStream = 30, kStoreStream = 40;
constexpr int kHostThread = 1;

std::string in_quotes(const std::string& text) { return to_text(Json(text)); }

int stream_of(const TraceSlice& slice) {
  const int first = slice.lane == TraceLane::kCompute  ? kComputeStream
                    : slice.lane == TraceLane::kSends  ? kSendStream
                    : slice.lane == TraceLane::kLoads  ? kLoadStream
                    : slice.lane == TraceLane::kStores ? kStoreStream
                                                       : kCollectiveStream;
  return first + slice.track;
}

// HTA goes by names: communication starts with "nccl"; of compute nothing may contain Sync, dma,
// Memcpy or Memset.
std::string kernel_name(ActionKind kind) {
  const ActionRule& rule = rule_of(kind);
  switch (rule.lane) {
    case Lane::kWire:
      return "ncclDevKernel_SendRecv";
    case Lane::kCollective:
      return rule.collective.gathers ? "ncclDevKernel_AllGather" : "ncclDevKernel_AllReduce_Sum";
    case Lane::kCopyIn:
      return "Memcpy HtoD (Pinned -> Device)";
    case Lane::kCopyOut:
      return "Memcpy DtoH (Device -> Pinned)";
    case Lane::kCompute:
    case Lane::kAtOnce:
      break;
  }
  std::string name(rule.meaning);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

const char* collective_name(ActionKind kind) {
  if (is_send(kind)) return "send";
  return rule_of(kind).collective.gathers ? "_allgather_base" : "allreduce";
}

class RankFile {
 public:
  RankFile(const StepTrace& trace, const TraceRank& rank, const PlanFile& plan)
      : trace_(trace), rank_(rank), plan_(plan) {}

  std::string write() {
    text_ = fmt::format(
        "{{\n\"schemaVersion\": 1,\n\"deviceProperties\": [\n"
        R"({{"id": {}, "name": {}, "totalGlobalMem": {}}})"
        "\n],\n"
        // HTA finds the rank by "rank", a colon and a blank.
        R"("distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}},)"
        "\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": 0,\n\"traceEvents\": [",
        rank_.rank, in_quotes(rank_.device), rank_.capacity.count, rank_.rank,
        plan_.plan.devices());
    event(fmt::format(
        R"({{"ph": "M", "name": "process_name", "pid": {0}, "tid": 0, "ts": 0.000, "args": {{"name": "rank {0}, {1}"}}}})",
        rank_.rank, trace_.what));
    event(fmt::format(
        R"({{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{}", "pid": {}, "tid": {}, "ts": 0.000, "dur": {}}})",
        trace_.step, rank_.rank, kHostThread, trace_time(trace_.length)));
    for (const TraceSlice& slice : rank_.slices) add_slice(slice);
    return std::move(text_) + "\n]\n}\n";
  }

 private:
  void event(const std::string& body) {
    text_ += text_.back() == '[' ? "\n" : ",\n";
    text_ += body;
  }

  // The arguments that HTA reads of a communication kernel. Counts are bytes, which the plan has;
  // it does not say of which type elements are.
  [[nodiscard]] std::string communication(const TraceSlice& slice) {
    std::string args = fmt::format(
        R"(, "Collective name": "{}", "In msg nelems": {}, "Out msg nelems": {}, "Group size": {}, "dtype": "Byte", "Process Group Name": "{}", "Process Group Description": "{}", "Seq": {})",
        collective_name(slice.kind), slice.bytes.count, slice.bytes.count,
        is_send(slice.kind) ? 2 : slice.members, is_send(slice.kind) ? "pp" : "dp",
        is_send(slice.kind) ? "pipeline" : "data_parallel", ++sequence_);
    if (slice.peer >= 0) {
      args += fmt::format(R"(, "Src Rank": {}, "Dst Rank": {})", rank_.rank, slice.peer);
    }
    return args;
  }

  void add_slice(const TraceSlice& slice) {
    ++correlation_;
    const std::string place =
        fmt::format(R"("pid": {}, "tid": {}, "ts": {}, "dur": {})", rank_.rank, stream_of(slice),
                    trace_time(slice.start), trace_length(slice.start, slice.end));
    event(fmt::format(
        R"({{"ph": "X", "cat": "gpu_user_annotation", "name": "PP:{}", {}, "args": {{"External id": {}}}}})",
        slice.name, place, correlation_));
    const bool is_overlap = slice.name.front() == '(';
    event(fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", {}, "args": {{"device": {}, "stream": {}, "correlation": {}{}}}}})",
        is_copy(slice.kind) ? "gpu_memcpy" : "kernel",
        is_overlap ? "forward_and_backward" : kernel_name(slice.kind), place, rank_.rank,
        stream_of(slice), correlation_,
        slice.lane == TraceLane::kCompute || is_copy(slice.kind) ? "" : communication(slice)));
  }

  const StepTrace& trace_;
  const TraceRank& rank_;
  const PlanFile& plan_;
  int correlation_ = 0;
  int sequence_ = 0;
  std::string text_;
};

}  // namespace

std::vector<NamedText> kineto_files(const StepTrace& trace, const PlanFile& plan) {
  std::vector<NamedText> files;
  files.reserve(trace.ranks.size());
  for (const TraceRank& rank : trace.ranks) {
    files.push_back(
        {fmt::format("rank{}_trace.json", rank.rank), RankFile(trace, rank, plan).write()});
  }
  return files;
}

}  // namespace penstock
