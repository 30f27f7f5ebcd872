// Each function checks one fact that needs no search: GPUs against P x D x T, stages against
// sections, degrees against the measured ones, samples, and what schedules ask of V and P. All that
// is found is told, so that the pins can be corrected in one go. A question may have no plan
// although nothing is found here.
#include "studies/contradictions.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "costmodel/price_stages.h"
#include "report/words.h"
#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

std::set<int> tensor_degrees(const Question& question) {
  const Pins& pins = question.request.pins;
  std::set<int> known;
  for (const DeviceType& type : question.cluster.value.device_types) {
    if (pins.device && type.name != *pins.device) continue;
    const auto degrees = measured_tensor_degrees(question.profile.value, type.name);
    known.insert(degrees.begin(), degrees.end());
  }
  return known;
}

bool has_tensor(const Question& question) {
  const auto& tensor = question.request.pins.tensor;
  return !tensor || tensor_degrees(question).count(*tensor) > 0;
}

// The degree that is too large, DP before PP before TP, as large as the others leave room for.
struct FittingDegree {
  const char* name;
  std::optional<int> Pins::*pin;
  std::int64_t largest;
};
std::optional<FittingDegree> fitting_degree(const Pins& pins, std::int64_t there) {
  const std::int64_t needed = devices_needed(pins);
  for (const auto& [name, pin] : {std::pair{"DP", &Pins::data}, std::pair{"PP", &Pins::pipeline},
                                  std::pair{"TP", &Pins::tensor}}) {
    const std::int64_t degree = (pins.*pin).value_or(1), others = needed / degree;
    if (degree > 1 && others <= there) return FittingDegree{name, pin, there / others};
  }
  return {};
}

std::string words_of_fitting(const Pins& pins, std::int64_t there) {
  const auto fitting = fitting_degree(pins, there);
  return fitting
             ? fmt::format(" {} = {} is the largest that fits.", fitting->name, fitting->largest)
             : "";
}

void add_devices(const Question& question, std::int64_t needed, const GpusThere& there,
                 std::vector<std::string>& found) {
  const Pins& pins = question.request.pins;
  std::vector<std::string> words;
  if (pins.pipeline) words.push_back(fmt::format("PP = {}", *pins.pipeline));
  if (pins.data) words.push_back(fmt::format("DP = {}", *pins.data));
  if (pins.tensor) words.push_back(fmt::format("TP = {}", *pins.tensor));
  if (pins.context) words.push_back(fmt::format("CP = {}", *pins.context));
  found.push_back(fmt::format("{} {} {} (PP x DP x TP), but {} {}.{}", joined(words, ", "),
                              words.size() == 1 ? "needs" : "together need",
                              count_of(needed, "GPU"), there.who, there.gpus,
                              has_tensor(question) ? words_of_fitting(pins, there.gpus) : ""));
}

void add_stages(const Question& question, std::vector<std::string>& found) {
  const Pins& pins = question.request.pins;
  const auto sections = std::ssize(question.profile.value.sections);
  const std::int64_t stages = std::int64_t{pins.pipeline.value_or(1)} * pins.chunks.value_or(1);
  if (stages <= 2 * sections && pins.pipeline.value_or(1) <= sections) return;
  const std::string degrees =
      pins.chunks ? fmt::format("PP = {} and VP = {} make", pins.pipeline.value_or(1), *pins.chunks)
                  : fmt::format("PP = {} makes", *pins.pipeline);
  const std::int64_t pipeline = pins.pipeline.value_or(1);
  const std::string most = pins.chunks && pipeline <= sections
                               ? fmt::format("VP = {}", sections / pipeline)
                               : fmt::format("PP = {}", sections);
  found.push_back(
      fmt::format("{} {}, but the model can be cut into no more than its {}. {} is the most.",
                  degrees, count_of(stages, "stage"), count_of(sections, "section"), most));
}

void add_tensor(const Question& question, std::vector<std::string>& found) {
  if (has_tensor(question)) return;
  const int tensor = *question.request.pins.tensor;
  found.push_back(
      fmt::format("TP = {}: {} has times for TP = {} only{}.", tensor, question.profile.value.name,
                  fmt::join(tensor_degrees(question), ", "), tensor_reason(question, tensor)));
}

void add_chunks(const Question& question, std::vector<std::string>& found) {
  const Pins& pins = question.request.pins;
  for (const std::string& name : pins.schedules) {
    const ScheduleKind& kind = *find_schedule(name);
    const int chunks = pins.chunks.value_or(kind.fewest_chunks);
    if (chunks < kind.fewest_chunks) {
      found.push_back(
          fmt::format("VP = {}: {} needs at least VP = {}.", chunks, name, kind.fewest_chunks));
    } else if (kind.most_chunks > 0 && chunks > kind.most_chunks) {
      found.push_back(fmt::format("VP = {}: {} has VP = {}.", chunks, name, kind.most_chunks));
    } else if (pins.pipeline == 1 && kind.fewest_chunks > 1) {
      found.push_back(fmt::format("PP = 1: {} has nothing to interleave on one rank.", name));
    }
    if (pins.shard_group && copies_of(kind.map) > 1) {
      found.push_back(fmt::format(
          "{} keeps two copies of the weights, whose shards lie on all holders and in no groups.",
          name));
    }
  }
}

void add_samples(const Question& question, std::vector<std::string>& found) {
  const Pins& pins = question.request.pins;
  const std::int64_t samples =
      std::int64_t{pins.micro_batch_size.value_or(1)} * pins.data.value_or(1);
  if (!pins.micro_batch_size || samples <= question.request.global_batch) return;
  found.push_back(
      fmt::format("mbs = {}{}: a global batch of {} has no whole micro-batch{}.",
                  *pins.micro_batch_size, pins.data ? fmt::format(" and DP = {}", *pins.data) : "",
                  question.request.global_batch, pins.data ? " for every replica" : ""));
}

// What trainers need whose replicas run equal micro-batches, before a search says it of each plan.
void add_equal_batches(const Question& question, std::vector<std::string>& found) {
  const SearchRequest& request = question.request;
  const Pins& pins = request.pins;
  const std::int64_t mbs = pins.micro_batch_size.value_or(1), round = mbs * pins.data.value_or(1);
  const bool is_equal = request.trainer != nullptr && request.trainer->equal_replicas;
  if (!is_equal || round > request.global_batch || request.global_batch % round == 0) return;
  std::int64_t step = batch_step(pins, request.gpus);
  if (step > request.global_batch) step = round;
  const std::int64_t below = request.global_batch / step * step;
  std::string sizes;
  for (std::int64_t size = mbs - 1; size > 0 && pins.micro_batch_size; --size) {
    if (request.global_batch % (round / mbs * size) != 0) continue;
    sizes = fmt::format("mbs = {} does, or ", size);
    break;
  }
  found.push_back(fmt::format(
      "{} = {} does not divide a global batch of {}, and {} runs equal micro-batches; {}a global "
      "batch of {} or {}.",
      pins.data && pins.micro_batch_size ? "DP x mbs"
      : pins.data                        ? "DP"
                                         : "mbs",
      round, request.global_batch, request.trainer->title, sizes, below, below + step));
}

}  // namespace

std::int64_t batch_step(const Pins& pins, int gpus) {
  const std::int64_t replicas = pins.data ? *pins.data : gpus / devices_needed(pins);
  return pins.micro_batch_size.value_or(1) * std::max(replicas, std::int64_t{1});
}

// Of four numbers of at most 31 bits; more than any cluster has, where 64 bits are not enough.
std::int64_t devices_needed(const Pins& pins) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  std::int64_t needed = 1;
  for (const auto& degree : {pins.pipeline, pins.data, pins.tensor, pins.context}) {
    const std::int64_t factor = degree.value_or(1);
    needed = needed > kMost / factor ? kMost : needed * factor;
  }
  return needed;
}

// An estimate has the powers of two that divide the model, within a node.
std::string tensor_reason(const Question& question, int tensor) {
  if (!question.estimated || question.estimated->model.heads == 0) return "";
  const Architecture& model = question.estimated->model;
  struct Part {
    int count;
    const char* words;
  };
  for (const Part& part : {Part{model.heads, "attention heads"},
                           Part{model.latent ? 0 : model.key_value_heads, "key and value heads"},
                           Part{model.feed_forward, "columns of the feed-forward layer"}}) {
    if (part.count % tensor == 0) continue;
    return fmt::format(", since TP divides its {} {}", part.count, part.words);
  }
  const int most = question.estimated->request.most_tensor_degree;
  return tensor > most ? fmt::format(", since TP lies within a node, of {}", count_of(most, "GPU"))
                       : "";
}

std::optional<Pins> nearest_pins(Question question, const GpusThere& there) {
  Pins& pins = question.request.pins;
  const std::optional<int> asked = pins.tensor;
  std::vector<int> degrees{asked.value_or(1)};
  if (!has_tensor(question)) {
    const std::set<int> known = tensor_degrees(question);
    degrees.assign(known.rbegin(), known.rend());
    std::stable_sort(degrees.begin(), degrees.end(), [&asked](int a, int b) {
      return std::abs(a - *asked) < std::abs(b - *asked);
    });
  }
  for (const int degree : degrees) {
    if (pins.tensor) pins.tensor = degree;
    if (contradictions_of(question, there).empty()) return pins;
  }
  pins.tensor = asked;
  const auto fitting = fitting_degree(pins, there.gpus);
  if (!fitting || !has_tensor(question)) return {};
  pins.*(fitting->pin) = static_cast<int>(fitting->largest);
  return contradictions_of(question, there).empty() ? std::optional(pins) : std::nullopt;
}

std::vector<std::string> contradictions_of(const Question& question, const GpusThere& there) {
  std::vector<std::string> found;
  const std::int64_t needed = devices_needed(question.request.pins);
  const SearchRequest& request = question.request;
  // A degree that cannot be comes first: no number of GPUs helps it.
  add_tensor(question, found);
  if (needed > there.gpus) add_devices(question, needed, there, found);
  if (request.pins.data.value_or(1) > request.global_batch) {
    found.push_back(
        fmt::format("DP = {}: a global batch of {} has less than one sample per replica.",
                    *request.pins.data, request.global_batch));
  }
  add_stages(question, found);
  add_samples(question, found);
  add_equal_batches(question, found);
  add_chunks(question, found);
  return found;
}

}  // namespace penstock
