// What `calibrate` finds out about a machine from measured runs: how its executor carries Programs
// out, by which factors its prices differ from what was measured apart, and how far predictions
// made with both are off. A cluster file may hold one.
#pragma once

#include <string>

#include "core/executor_model.h"

namespace penstock {

// Of prices, applied where they are made (docs/cost_model.md, "Calibration").
struct PriceFactors {
  double compute = 1.0;        // the part of a section's time that grows with the micro-batch
  double small_kernels = 1.0;  // the part that does not: launches
  double transfer = 1.0;       // pipeline transfers; at least 1, a link is not beaten
  double reduction = 1.0;      // gradient reductions; likewise
  double reduction_ps_per_byte = 0.0;  // flattening and copying before them, per gradient byte
  bool operator==(const PriceFactors&) const = default;
};

struct Calibration {
  std::string profile;  // the model that was run, by its profile's name
  std::string device;   // the device type; prices of others stay as they are
  int runs = 0;
  ExecutorModel executor;
  PriceFactors factors;
  double error = 0.0;  // root mean square of the relative errors of runs that were left out
  bool operator==(const Calibration&) const = default;
};

}  // namespace penstock
