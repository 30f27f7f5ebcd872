// Joins each measured section of a profile with the counts of the same section by its architecture,
// at the same tensor degree and sizes; only rows without recompute are taken, since the others do
// the same work twice. The name of a section's type says which count it has. A backward that was
// measured in two parts counts as their sum.
#include "estimator/measured_rows.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/values/error.h"
#include "core/values/seconds.h"

namespace penstock {
namespace {

const DeviceSheet& sheet_called(const std::vector<DeviceSheet>& devices, const std::string& name,
                                const std::string& profile) {
  for (const DeviceSheet& device : devices) {
    if (device.is_called(name)) return device;
  }
  throw_bad_input(profile + ": no datasheet of device '" + name + "'\nhelp: add data/devices/" +
                  name + ".json (docs/file_formats.md), or an alias to the one that it is");
}

double backward_of(const Measurement& m) {
  if (m.fused_backward) return to_seconds(m.fused_backward->median);
  return to_seconds(m.input_gradient->median) + to_seconds(m.weight_gradient->median);
}

class RowMaker {
 public:
  RowMaker(const std::vector<EfficiencyCase>& cases, const std::vector<DeviceSheet>& devices)
      : cases_(cases), devices_(devices) {}

  std::vector<MeasuredRow> rows() {
    for (std::size_t i = 0; i < cases_.size(); ++i) add_case(static_cast<int>(i));
    return std::move(rows_);
  }

 private:
  void add_case(int index) {
    const EfficiencyCase& one = cases_[static_cast<std::size_t>(index)];
    const auto& types = one.profile.section_types;
    std::vector<int> counts(types.size());
    for (const Section& section : one.profile.sections) {
      ++counts[static_cast<std::size_t>(section.type)];
    }
    for (std::size_t type = 0; type < types.size(); ++type) {
      for (const Measurement& m : types[type].measurements) {
        if (m.recompute == "none") add_row(index, types[type].name, counts[type], m);
      }
    }
  }

  void add_row(int index, const std::string& type, int sections, const Measurement& m) {
    const EfficiencyCase& one = cases_[static_cast<std::size_t>(index)];
    MeasuredRow row;
    row.profile = index;
    row.device = &sheet_called(devices_, m.device, one.name);
    row.arithmetic = row.device->peak(one.arithmetic) ? one.arithmetic : Arithmetic::kFloat32;
    const PeakRate* peak = row.device->peak(row.arithmetic);
    if (peak == nullptr) {
      throw_bad_input(one.name + ": the datasheet of " + row.device->name + " has no rate for " +
                      std::string(name_of(row.arithmetic)));
    }
    row.peak = peak->flops_per_s;
    row.kernel = one.attention == AttentionKind::kKept
                     ? AttentionKernel::kEager
                     : default_attention(*row.device, row.arithmetic);
    row.sequence_length = m.sequence_length;
    row.head_width = score_width(one.model);
    row.sections = sections;
    row.forward_s = to_seconds(m.forward.median);
    row.backward_s = backward_of(m);
    const int bytes = bytes_of(one.arithmetic);
    const CountKey key{m.tensor_degree,
                       m.micro_batch_size,
                       m.sequence_length,
                       bytes,
                       one.attention,
                       /*sequence_parallel=*/false,
                       /*context_degree=*/1,
                       /*eager=*/true};
    std::tie(row.role, row.counts) = counted(one.model, type, key);
    const auto pass = passes_.emplace(
        std::tuple(index, m.device, m.tensor_degree, m.micro_batch_size, m.sequence_length),
        static_cast<int>(passes_.size()));
    row.pass = pass.first->second;
    rows_.push_back(row);
  }

  static std::pair<SectionRole, SectionCounts> counted(const Architecture& model,
                                                       const std::string& type,
                                                       const CountKey& key) {
    if (type == "embedding") return {SectionRole::kEmbedding, count_embedding(model, key)};
    if (type == "layer") return {SectionRole::kLayer, count_layer(model, LayerKind::kDense, key)};
    const EndKind kind = type == "norm" ? EndKind::kNormOnly : EndKind::kNormAndHead;
    return {SectionRole::kEnd, count_end(model, kind, key)};
  }

  const std::vector<EfficiencyCase>& cases_;
  const std::vector<DeviceSheet>& devices_;
  std::map<std::tuple<int, std::string, int, int, int>, int> passes_;
  std::vector<MeasuredRow> rows_;
};

}  // namespace

std::vector<MeasuredRow> measured_rows(const std::vector<EfficiencyCase>& cases,
                                       const std::vector<DeviceSheet>& devices) {
  return RowMaker(cases, devices).rows();
}

}  // namespace penstock
