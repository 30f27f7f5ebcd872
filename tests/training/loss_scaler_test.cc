#include "training/loss_scaler.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("an overflow halves the loss scale, 2000 good steps in a row double it") {
  LossScaler scaler;
  CHECK(scaler.scale() == 65536.0);
  scaler.update(true);
  scaler.update(true);
  CHECK(scaler.scale() == 16384.0);
  for (int i = 0; i < 1999; ++i) scaler.update(false);
  CHECK(scaler.scale() == 16384.0);
  scaler.update(false);
  CHECK(scaler.scale() == 32768.0);
  for (int i = 0; i < 1999; ++i) scaler.update(false);
  scaler.update(true);  // starts the count again
  for (int i = 0; i < 1999; ++i) scaler.update(false);
  CHECK(scaler.scale() == 16384.0);
  CHECK(scaler.good_steps() == 1999);
}

TEST_CASE("the loss scale stays a number, whatever happens") {
  LossScaler scaler;
  for (int i = 0; i < 5000; ++i) scaler.update(true);
  CHECK(scaler.scale() == LossScaler::kSmallestScale);
  scaler.restore(LossScaler::kLargestScale, LossScaler::kGrowthInterval - 1);
  scaler.update(false);
  CHECK(scaler.scale() == LossScaler::kLargestScale);
}

}  // namespace
}  // namespace penstock
