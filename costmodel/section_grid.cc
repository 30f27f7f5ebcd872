// Measurements of one section type as a grid of micro-batch sizes by sequence lengths, and the
// values between and beyond them.
//
// - Along the micro-batch size times are linear between measured points: work grows with samples,
//   on top of launches that do not. Before that a running minimum from the right makes them rise (a
//   small micro-batch that took longer than a larger one was bound by launches).
// - Along the length a power law runs through the two nearest rows, since attention grows with the
//   square and everything else linearly; beyond the rows its exponent is held within 0 and 2.
// - Sections of a decoder with a length of its own have such a grid for each decoder length that
// was
//   measured; between and beyond those the same power law holds.
// - What was not measured is derived and marked: B = I + W, or I and W by the measured share of W,
//   half of B where no share was measured. A sample knows which measurements it was made of, so
//   that the interval of a prediction can follow (docs/cost_model.md).
#include "costmodel/section_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "costmodel/interpolate.h"

namespace penstock {
namespace {

double as_double(Duration duration) { return static_cast<double>(duration.count()); }
double as_double(Bytes bytes) { return static_cast<double>(bytes.count); }

void put(GridSample& sample, Quantity time, Quantity spread, const Timing& timing) {
  sample.values[time] = as_double(timing.median);
  sample.values[spread] = as_double(timing.spread);
}

GridSample as_measured(const Measurement& m, Range samples) {
  GridSample sample;
  sample.samples = samples;
  sample.from = SampledFrom(&m);
  sample.split_measured = m.input_gradient.has_value() && m.weight_gradient.has_value();
  sample.fused_measured = m.fused_backward.has_value();
  put(sample, kForwardTime, kForwardSpread, m.forward);
  put(sample, kRecomputeTime, kRecomputeSpread, m.recompute_time);
  put(sample, kInputGradientTime, kInputGradientSpread, m.input_gradient.value_or(Timing{}));
  put(sample, kWeightGradientTime, kWeightGradientSpread, m.weight_gradient.value_or(Timing{}));
  put(sample, kFusedBackwardTime, kFusedBackwardSpread, m.fused_backward.value_or(Timing{}));
  sample.values[kStash] = as_double(m.stash);
  sample.values[kWeightStash] = as_double(m.weight_stash);
  sample.values[kWorkingPeak] = as_double(m.working_peak);
  sample.values[kBoundary] = as_double(m.boundary);
  return sample;
}

bool was_timed(const GridSample& sample, Quantity time) {
  if (time == kFusedBackwardTime) return sample.fused_measured;
  if (time == kInputGradientTime || time == kWeightGradientTime) return sample.split_measured;
  return true;
}

// More samples cannot take less time: where a smaller micro-batch was measured slower, the device
// was waiting for launches, and the larger one's time holds. A running minimum from the right.
void clamp_times(GridRow& row) {
  for (const Quantity time : {kForwardTime, kInputGradientTime, kWeightGradientTime,
                              kFusedBackwardTime, kRecomputeTime}) {
    double least = std::numeric_limits<double>::infinity();
    for (auto point = row.points.rbegin(); point != row.points.rend(); ++point) {
      if (!was_timed(point->sample, time)) continue;
      double& value = point->sample.values[time];
      if (value > least) point->sample.launch_bound = true;
      least = value = std::min(value, least);
    }
  }
}

// Fills in what was not timed, after the clamp: a clamped B is divided, not a slower one.
void complete(GridSample& sample) {
  auto& v = sample.values;
  if (!sample.fused_measured) {
    v[kFusedBackwardTime] = v[kInputGradientTime] + v[kWeightGradientTime];
    v[kFusedBackwardSpread] = std::sqrt(v[kInputGradientSpread] * v[kInputGradientSpread] +
                                        v[kWeightGradientSpread] * v[kWeightGradientSpread]);
  }
  if (!sample.split_measured) {
    const double share = sample.from.front()->weight_gradient_share.value_or(0.5);
    v[kWeightGradientTime] = std::floor(share * v[kFusedBackwardTime] + 0.5);
    v[kInputGradientTime] = v[kFusedBackwardTime] - v[kWeightGradientTime];
    v[kWeightGradientSpread] = share * v[kFusedBackwardSpread];
    v[kInputGradientSpread] = (1.0 - share) * v[kFusedBackwardSpread];
  }
}

// What two samples have in common when a third is made from both.
GridSample joined(const GridSample& a, const GridSample& b) {
  GridSample sample;
  sample.split_measured = a.split_measured && b.split_measured;
  sample.fused_measured = a.fused_measured && b.fused_measured;
  sample.launch_bound = a.launch_bound || b.launch_bound;
  sample.beyond_samples = a.beyond_samples || b.beyond_samples;
  sample.beyond_length = a.beyond_length || b.beyond_length;
  // The range to tell is the one that was left.
  sample.samples = b.beyond_samples && !a.beyond_samples ? b.samples : a.samples;
  sample.from = a.from;
  sample.from.add(b.from);
  return sample;
}

// Outside the measured sizes the nearest segment goes on, kept monotone and positive: above, not
// below the last point; below, not above the first point and not below its proportional part.
double continued(double x0, double y0, double x1, double y1, double x) {
  const double y = linear(x0, y0, x1, y1, x);
  if (x > x1) return std::max(y, y1);
  if (x < x0) return std::min(y0, std::max(y, y0 * x / x0));
  return y;
}

GridSample proportional(const GridPoint& point, int samples) {
  GridSample result = point.sample;
  for (double& value : result.values) value = value * samples / point.samples;
  result.beyond_samples = true;
  return result;
}

GridSample sample_row(const GridRow& row, int samples) {
  const auto& points = row.points;
  const auto at = std::find_if(points.begin(), points.end(),
                               [&](const GridPoint& point) { return point.samples >= samples; });
  if (at != points.end() && at->samples == samples) return at->sample;
  if (points.size() == 1) return proportional(points.front(), samples);
  const auto upper = std::clamp(at, points.begin() + 1, points.end() - 1);
  const GridPoint& a = *(upper - 1);
  const GridPoint& b = *upper;
  GridSample result = joined(a.sample, b.sample);
  const double x0 = a.samples, x1 = b.samples, x = samples;
  if (x0 < x && x < x1) {
    const auto &low = a.sample.values, &high = b.sample.values;
    for (std::size_t k = 0; k < kQuantities; ++k) {  // linear(), all at once
      result.values[k] = low[k] + (high[k] - low[k]) * (x - x0) / (x1 - x0);
    }
  } else {
    for (std::size_t k = 0; k < kQuantities; ++k) {
      result.values[k] = continued(x0, a.sample.values[k], x1, b.sample.values[k], x);
    }
  }
  result.beyond_samples = !result.samples.contains(samples);
  return result;
}

// Beyond the measured lengths the power law of the two nearest rows goes on; its exponent is held
// between a constant and attention's square, since two noisy rows must not decide more than that.
double continued_power_law(double x0, double y0, double x1, double y1, double x) {
  const double near_x = x < x0 ? x0 : x1;
  const double near_y = x < x0 ? y0 : y1;
  double exponent = 1.0;
  if (x0 > 0.0 && y0 > 0.0 && y1 > 0.0) {
    exponent = std::clamp(natural_log(y1 / y0) / natural_log(x1 / x0), 0.0, 2.0);
  }
  if (exponent == 1.0 || x <= 0.0) return near_y * x / near_x;
  return near_y * natural_exponential(exponent * natural_log(x / near_x));
}

GridSample scaled_to_length(GridSample sample, int measured, int length) {
  for (double& value : sample.values) value = value * length / measured;
  sample.beyond_length = true;
  return sample;
}

// What was sampled at two lengths, taken to a third.
GridSample at_length(const GridSample& low, int low_length, const GridSample& high, int high_length,
                     int length) {
  GridSample result = joined(low, high);
  const bool is_beyond = !Range{low_length, high_length}.contains(length);
  result.beyond_length = is_beyond || low.beyond_length || high.beyond_length;
  if (!is_beyond) {
    power_laws(low_length, low.values, high_length, high.values, length, result.values);
    return result;
  }
  for (std::size_t k = 0; k < kQuantities; ++k) {
    result.values[k] =
        continued_power_law(low_length, low.values[k], high_length, high.values[k], length);
  }
  return result;
}

using BySamples = std::map<int, const Measurement*>;

SectionGrid grid_of(const std::map<int, BySamples>& by_length, int decoder_length) {
  SectionGrid grid;
  grid.decoder_length = decoder_length;
  for (const auto& [length, by_samples] : by_length) {
    GridRow& row = grid.rows.emplace_back();
    row.length = length;
    const Range range{by_samples.begin()->first, by_samples.rbegin()->first};
    for (const auto& [samples, m] : by_samples) {
      row.points.push_back({samples, as_measured(*m, range)});
    }
    clamp_times(row);
    for (GridPoint& point : row.points) complete(point.sample);
  }
  return grid;
}

}  // namespace

bool is_row_for(const SectionType& type, const Measurement& m, const OtherDegrees& others) {
  if (m.context_degree != others.context) return false;
  return type.expert_parameters == 0 ||
         (m.expert_degree == others.expert && m.expert_tensor_degree == others.expert_tensor);
}

std::vector<SectionGrid> section_grids(const SectionType& type, const std::string& device,
                                       int tensor_degree, const std::string& recompute,
                                       const OtherDegrees& others) {
  std::map<int, std::map<int, BySamples>> sorted;
  for (const Measurement& m : type.measurements) {
    if (m.tensor_degree == tensor_degree && is_row_for(type, m, others) && m.device == device &&
        m.recompute == recompute) {
      sorted[m.decoder_length][m.sequence_length][m.micro_batch_size] = &m;
    }
  }
  std::vector<SectionGrid> grids;
  grids.reserve(sorted.size());
  for (const auto& [decoder_length, by_length] : sorted) {
    grids.push_back(grid_of(by_length, decoder_length));
  }
  return grids;
}

GridSample sample_at(const SectionGrid& grid, int samples, int sequence_length) {
  const auto& rows = grid.rows;
  const auto at = std::find_if(rows.begin(), rows.end(),
                               [&](const GridRow& row) { return row.length >= sequence_length; });
  if (at != rows.end() && at->length == sequence_length) return sample_row(*at, samples);
  if (rows.size() == 1) {
    const GridSample only = sample_row(rows.front(), samples);
    const int length = rows.front().length;
    return length == 0 ? only : scaled_to_length(only, length, sequence_length);
  }
  const auto upper = std::clamp(at, rows.begin() + 1, rows.end() - 1);
  const GridRow& low = *(upper - 1);
  const GridRow& high = *upper;
  return at_length(sample_row(low, samples), low.length, sample_row(high, samples), high.length,
                   sequence_length);
}

GridSample sample_at(const std::vector<SectionGrid>& grids, int samples, int sequence_length,
                     int decoder_length) {
  const auto at = std::find_if(grids.begin(), grids.end(), [&](const SectionGrid& grid) {
    return grid.decoder_length >= decoder_length;
  });
  const auto sample = [&](const SectionGrid& grid) {
    return sample_at(grid, samples, sequence_length);
  };
  if (at != grids.end() && at->decoder_length == decoder_length) return sample(*at);
  const SectionGrid& first = grids.front();
  if (grids.size() == 1) {
    return first.decoder_length == 0
               ? sample(first)
               : scaled_to_length(sample(first), first.decoder_length, decoder_length);
  }
  const auto upper = std::clamp(at, grids.begin() + 1, grids.end() - 1);
  const SectionGrid& low = *(upper - 1);
  return at_length(sample(low), low.decoder_length, sample(*upper), upper->decoder_length,
                   decoder_length);
}

}  // namespace penstock
