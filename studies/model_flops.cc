#include "studies/model_flops.h"

#include <algorithm>

#include "estimator/estimate_profile.h"
#include "estimator/model_flops.h"
#include "estimator/shipped_data.h"

namespace penstock {
namespace {

// Of the whole layer or head: ranks of a tensor-parallel group divide it.
double parameters_of(const SectionType& type) {
  const ParameterCount& least = type.parameters.front();
  return static_cast<double>(least.count) * least.tensor_degree;
}

// A lookup multiplies nothing.
double multiplied_parameters(const ModelProfile& profile) {
  double sum = 0.0;
  for (const Section& section : profile.sections) {
    const SectionType& type = profile.section_types[static_cast<std::size_t>(section.type)];
    if (type.name != "embedding") sum += parameters_of(type);
  }
  return sum;
}

Arithmetic arithmetic_of(const Question& question, const DeviceSheet& sheet) {
  if (question.estimated) return question.estimated->request.arithmetic;
  const bool is_half = question.profile.value.training.bytes_per_parameter.count == 2;
  return is_half ? default_arithmetic(sheet) : Arithmetic::kTensorFloat32;
}

void add_peaks(ModelFlops& flops, const Question& question) {
  std::vector<DeviceSheet> sheets = shipped_devices();
  if (question.estimated) sheets.insert(sheets.begin(), question.estimated->device);
  for (const DeviceType& type : question.cluster.value.device_types) {
    const auto sheet = std::find_if(sheets.begin(), sheets.end(), [&](const DeviceSheet& one) {
      return one.is_called(type.name);
    });
    if (sheet == sheets.end()) continue;
    const PeakRate* peak = sheet->peak(arithmetic_of(question, *sheet));
    if (peak != nullptr) flops.peaks.emplace_back(type.name, peak->flops_per_s);
  }
}

}  // namespace

std::optional<ModelFlops> model_flops_of(const Question& question, int sequence_length) {
  if (sequence_length <= 0) return std::nullopt;
  ModelFlops flops;
  if (question.estimated) {
    if (question.estimated->encoder_decoder) return std::nullopt;  // two lengths
    flops.per_sample = model_flops(question.estimated->model, sequence_length);
    flops.convention = FlopConvention::kMegatron;
  } else {
    flops.per_sample = 6.0 * multiplied_parameters(question.profile.value) * sequence_length;
    flops.convention = FlopConvention::kPerParameter;
  }
  add_peaks(flops, question);
  return flops;
}

std::optional<ModelFlops> model_flops_of(const Question& question, const Plan& plan) {
  if (!plan.has_even_batch()) return std::nullopt;  // samples of several lengths
  std::optional<ModelFlops> flops = model_flops_of(question, plan.sequence_length);
  if (!flops) return flops;
  const std::vector<std::string> types = plan.device_types();
  std::erase_if(flops->peaks, [&](const auto& peak) {
    return std::find(types.begin(), types.end(), peak.first) == types.end();
  });
  return flops;
}

}  // namespace penstock
