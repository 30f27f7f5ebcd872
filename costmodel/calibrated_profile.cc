// Rows that differ only in their micro-batch size are sorted and become points of a curve;
// growing_shares() gives the part of each time that grows. Invariant: a factor of 1 leaves every
// byte and every nanosecond as it was, so an uncalibrated profile can take the same way.
#include "costmodel/calibrated_profile.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace penstock {
namespace {

using Row = std::vector<Measurement*>;  // ascending micro-batch sizes

struct Point {
  double samples = 0.0;
  Timing* timing = nullptr;
};

double ns(Duration duration) { return static_cast<double>(duration.count()); }

// The shares of the times of a row that grow with the micro-batch. More samples cannot take less
// time (docs/cost_model.md, "Cleaning"), so the next point is held at its cleaned value. The last
// point lies on the line from the one before; a single point says nothing, and all of it grows.
std::vector<double> growing_shares(const std::vector<Point>& points) {
  std::vector<double> shares(points.size(), 1.0);
  if (points.size() < 2) return shares;
  std::vector<double> clean(points.size());
  for (std::size_t i = points.size(); i-- > 0;) {
    clean[i] = ns(points[i].timing->median);
    if (i + 1 < points.size()) clean[i] = std::min(clean[i], clean[i + 1]);
  }
  double slope = 0.0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i + 1 < points.size()) {
      slope = (clean[i + 1] - clean[i]) / (points[i + 1].samples - points[i].samples);
    }
    if (clean[i] > 0.0) shares[i] = std::min(1.0, slope * points[i].samples / clean[i]);
  }
  return shares;
}

template <class Get>
void scale_row(const Row& row, const PriceFactors& factors, Get get) {
  std::vector<Point> points;
  for (Measurement* measurement : row) {
    if (Timing* timing = get(*measurement)) {
      points.push_back({static_cast<double>(measurement->micro_batch_size), timing});
    }
  }
  const std::vector<double> shares = growing_shares(points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double factor = shares[i] * factors.compute + (1.0 - shares[i]) * factors.small_kernels;
    Timing& timing = *points[i].timing;
    timing.median = scaled(timing.median, factor);
    timing.spread = scaled(timing.spread, factor);
  }
}

Timing* if_measured(std::optional<Timing>& timing) { return timing ? &*timing : nullptr; }

// Bytes hold whole numbers; what is counted is not made smaller than it is.
Bytes scaled_bytes(Bytes bytes, double factor) {
  return {static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes.count) * factor - 1e-6))};
}

void scale_bytes(Measurement& measurement, const MemoryFactors& memory) {
  if (memory.activations == 1.0) return;
  measurement.stash = scaled_bytes(measurement.stash, memory.activations);
  measurement.weight_stash = scaled_bytes(measurement.weight_stash, memory.activations);
  measurement.working_peak = scaled_bytes(measurement.working_peak, memory.activations);
}

void scale_times(const Row& row, const PriceFactors& factors) {
  scale_row(row, factors, [](Measurement& m) { return &m.forward; });
  scale_row(row, factors, [](Measurement& m) { return if_measured(m.input_gradient); });
  scale_row(row, factors, [](Measurement& m) { return if_measured(m.weight_gradient); });
  scale_row(row, factors, [](Measurement& m) { return if_measured(m.fused_backward); });
  scale_row(row, factors, [](Measurement& m) { return &m.recompute_time; });
}

}  // namespace

ModelProfile calibrated_profile(const ModelProfile& profile, const Calibration& calibration) {
  ModelProfile result = profile;
  Bytes& state = result.training.optimizer_bytes_per_parameter;
  state.count = std::max<std::int64_t>(0, state.count + calibration.memory.bytes_per_parameter);
  for (SectionType& type : result.section_types) {
    // Rows that differ in their samples only.
    std::map<std::tuple<int, int, int, int, int, int, std::string>, Row> rows;
    for (Measurement& m : type.measurements) {
      if (m.device != calibration.device) continue;
      scale_bytes(m, calibration.memory);
      rows[{m.tensor_degree, m.context_degree, m.expert_degree, m.expert_tensor_degree,
            m.sequence_length, m.decoder_length, m.recompute}]
          .push_back(&m);
    }
    for (auto& [key, row] : rows) {
      std::sort(row.begin(), row.end(), [](const Measurement* a, const Measurement* b) {
        return a->micro_batch_size < b->micro_batch_size;
      });
      scale_times(row, calibration.factors);
    }
  }
  return result;
}

ClusterSpec calibrated_cluster(ClusterSpec cluster, const Calibration& calibration) {
  for (DeviceType& type : cluster.device_types) {
    if (type.name != calibration.device || !calibration.memory.reserve) continue;
    type.reserve = *calibration.memory.reserve;
  }
  cluster.calibration = calibration;
  return cluster;
}

}  // namespace penstock
