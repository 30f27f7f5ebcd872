#include "estimator/efficiency.h"

#include <doctest/doctest.h>

#include "core/values/device_sheet.h"

using namespace penstock;

namespace {

// Of a device of 1 TFLOP/s, whose memory and links move 1 TB/s. The rates point at its sheet, which
// therefore outlives them.
Rates unit_rates(const EfficiencyCurve& curve) {
  static const DeviceSheet sheet = [] {
    DeviceSheet unit;
    unit.memory_bandwidth.value = 1e12;
    unit.node.bandwidth.value = 1e12;
    return unit;
  }();
  return rates_of(sheet, 1e12, curve, AttentionKernel::kFlash2, 1024, 128);
}

}  // namespace

// One product of 1,000 rows takes 2 * 1,000 * weights / (share * 1e12) s. Experts of 2^24 weights
// and fewer get 60 %, of 2^28 and more all, and of 2^26 what lies in the middle of their
// logarithms.
TEST_CASE("grouped products of large experts reach what other products do") {
  EfficiencyCurve curve;
  curve.eager = true;  // shapes count for nothing
  curve.terms = {.products = 1.0, .memory = 1.0, .link = 1.0};
  curve.terms.experts = 0.6;
  const Rates rates = unit_rates(curve);
  const auto share_of = [&](int width, int inner) {
    Work work;
    work.products = {{1000.0, static_cast<double>(width), static_cast<double>(inner), 1.0,
                      ProductKind::kGrouped}};
    const double seconds = times_of(work, Direction::kForward, Place::kLayer, rates).experts;
    return 2.0 * 1000.0 * width * inner / 1e12 / seconds;
  };
  CHECK(share_of(1 << 10, 1 << 10) == doctest::Approx(0.6));
  CHECK(share_of(1 << 12, 1 << 12) == doctest::Approx(0.6));
  CHECK(share_of(1 << 13, 1 << 13) == doctest::Approx(0.8));
  CHECK(share_of(1 << 14, 1 << 14) == doctest::Approx(1.0));
  CHECK(share_of(1 << 15, 1 << 15) == doctest::Approx(1.0));
}

// Of 4 experts each is launched by itself, of 64 no more than 16 are: 50 us each.
TEST_CASE("every expert on a rank takes its time, up to sixteen") {
  EfficiencyCurve curve;
  curve.terms = {.products = 1.0, .memory = 1.0, .link = 1.0};
  curve.terms.routing_s = 50e-6;
  const Rates rates = unit_rates(curve);
  const auto routing_of = [&](double experts, ProductKind kind) {
    Work work;
    work.products = {{64.0, 64.0, 64.0, experts, kind}};
    return times_of(work, Direction::kForward, Place::kLayer, rates).routing;
  };
  CHECK(routing_of(4.0, ProductKind::kGrouped) == doctest::Approx(200e-6));
  CHECK(routing_of(64.0, ProductKind::kGrouped) == doctest::Approx(800e-6));
  CHECK(routing_of(1.0, ProductKind::kWhole) == 0.0);
}

// 500 x 500 results of 2,000 deep are 1 GFLOP: 1 ms at 1 TFLOP/s. 450 MB at nine tenths of 1 TB/s
// are 0.5 ms, which are hidden; of the 3 ms of 2.7 GB 2 show.
TEST_CASE("sums of gradients inside a product show as far as they take longer than it") {
  EfficiencyCurve curve;
  curve.terms = {.products = 1.0, .memory = 1.0, .link = 1.0};
  const Rates rates = unit_rates(curve);
  Work work;
  work.products = {{500.0, 500.0, 2000.0, 1.0, ProductKind::kWhole, 450e6}};
  const WorkTimes hidden = times_of(work, Direction::kBackward, Place::kLayer, rates);
  CHECK(hidden.products == doctest::Approx(1e-3));
  CHECK(hidden.beyond == 0.0);
  work.products.front().summed = 2.7e9;
  const WorkTimes bound = times_of(work, Direction::kBackward, Place::kLayer, rates);
  CHECK(bound.beyond == doctest::Approx(2e-3));
  CHECK(bound.sum() == doctest::Approx(3e-3));
}

// 1.8 GB at nine tenths of 1 TB/s: 2 ms each.
TEST_CASE("gradient sums and copies of collectives are long streams through memory") {
  EfficiencyCurve curve;
  curve.terms = {.products = 1.0, .memory = 0.5, .link = 1.0};
  const Rates rates = unit_rates(curve);
  Work work;
  work.sums = work.copies = 1.8e9;
  const WorkTimes times = times_of(work, Direction::kBackward, Place::kLayer, rates);
  CHECK(times.sums == doctest::Approx(2e-3));
  CHECK(times.copies == doctest::Approx(2e-3));
  CHECK(times.sum() == doctest::Approx(4e-3));
}
