// A Hugging Face config.json: what is accepted can be estimated, and what is estimated can be
// written as a profile and read again.
#include "core/files/format.h"
#include "core/values/architecture.h"
#include "estimator/estimate_profile.h"
#include "fuzz/fuzz.h"

namespace penstock {
namespace {

using fuzz::require;

constexpr int kMostLayers = 64;  // more are more of the same, and slow

DeviceSheet round_device() {
  DeviceSheet device;
  device.name = "round";
  device.generation = "none";
  device.sources = {{"sheet", Origin::kDatasheet, "made up", ""}};
  device.peaks = {{Arithmetic::kBFloat16, 1e15, 0}};
  device.memory = {80'000'000'000};
  device.memory_bandwidth = {1e12};
  device.node = {8, "link", {1e11}, 0};
  return device;
}

Efficiency half_of_everything() {
  Efficiency efficiency;
  efficiency.curves = {{"any", "half", true, {0.5, 0.5, 0.5, 1e-5, 2e-5, 0.1}, {0.2, 0.4}}};
  return efficiency;
}

void check_architecture(const Architecture& model) {
  require(model.layers >= 1 && model.hidden >= 1 && model.heads >= 1, "a size below 1");
  require(model.key_value_heads >= 1 && model.vocabulary >= 1, "a size below 1");
  require(!model.experts || (model.experts->count >= 1 && model.experts->per_token >= 1 &&
                             model.experts->per_token <= model.experts->count),
          "experts");
}

ModelProfile estimate(const Architecture& model) {
  EstimateRequest request;
  const int positions = default_sequence_length(model);
  request.sequence_length = positions > 0 ? positions : 128;
  request.most_tensor_degree = 4;
  return estimate_profile(model, round_device(), half_of_everything(), request).profile;
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto model = fuzz::accepted(text, [](const std::string& file) {
    return read_architecture(parse_json(file, fuzz::kFile), fuzz::kFile);
  });
  if (!model) return 0;
  fuzz::remember(text);
  check_architecture(*model);
  if (model->layers > kMostLayers) return 0;
  const auto profile = fuzz::unless_refused([&] { return estimate(*model); });
  if (!profile) return 0;
  const std::string written = to_text(write_profile(*profile));
  require(read_profile(parse_json(written, fuzz::kFile), fuzz::kFile) == *profile,
          "written and read again it is another profile");
  return 0;
}
