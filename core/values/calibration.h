// What `calibrate` finds out about a machine from measured runs: how its executor carries Programs
// out, by which factors its prices differ from what was measured apart, how sure all that is, and
// what it was fitted to. A cluster file may hold one.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/units.h"

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

// Of memory: framework copies, what a rank keeps of its micro-batches, and what is never planned
// for.
struct MemoryFactors {
  int bytes_per_parameter = 0;   // on top of the profile's, with the optimizer's state; may be < 0
  double activations = 1.0;      // of stashes and working peaks
  std::optional<Bytes> reserve;  // instead of the device's
  bool operator==(const MemoryFactors&) const = default;
};

// The terms that step times are fitted with, in this order wherever there is one value for each.
inline constexpr std::size_t kStepTerms = 6;
inline constexpr std::array<const char*, kStepTerms> kStepTermNames{
    "compute", "small kernels", "per step", "per action", "per transfer", "transfer"};

// What some of the runs have in common, as far as it says how well they speak for another plan.
struct CalibratedOn {
  std::string profile, schedule;
  int pipeline = 1, chunks = 1, tensor = 1, micro_batch_size = 1;
  int runs = 1;
  bool operator==(const CalibratedOn&) const = default;
};

// How sure the terms are: what the runs leave of what was thought before them.
struct Posterior {
  // Of factors, and of times in nanoseconds; row by row, kStepTerms of each.
  std::vector<double> covariance;
  double run_to_run = 0.0;  // standard deviation of one run's step time, relative
  int degrees = 1;          // of freedom, of Student's t
  std::vector<CalibratedOn> fitted_on;
  bool operator==(const Posterior&) const = default;
};

struct Calibration {
  std::string profile;  // the models that were run, by their profiles' names: "A", "A, B"
  std::string device;   // the device type; prices of others stay as they are
  int runs = 0;
  ExecutorModel executor;
  PriceFactors factors;
  MemoryFactors memory;
  double error = 0.0;  // root mean square of the relative errors of runs that were left out
  std::optional<Posterior> posterior;  // files of penstock 0.1 have none
  bool operator==(const Calibration&) const = default;
};

// The same prices where another executor was asked for: factors of compute, launches, reductions
// and memory are the machine's; what was fitted of transfers and fixed costs is the executor's, is
// not taken over, and is as unsure as `before` says: the covariance without any run.
Calibration with_executor(Calibration calibration, const ExecutorModel& executor);

// How much models differ from each other after calibration, as a standard deviation: assumed.
// docs/accuracy.md has what the shipped runs say of it.
inline constexpr double kOtherModel = 0.06;

// The same for a model, by its profile's name: where it was never run, factors of compute and small
// kernels that are not sure to differ from 1 (two standard deviations, with what models differ by)
// say nothing of it, and are 1. The fitted costs of the executor become what they are likely to be
// if that is so. Copies before a reduction are its tensors', of other sizes: none.
Calibration for_model(Calibration calibration, const std::string& model);

// Standard deviations of the terms before there is any run: docs/cost_model.md, "Calibration".
// Factors, and nanoseconds. An engine that interprets its list in Python may spend more on an
// action than one that runs a compiled loop.
const std::array<double, kStepTerms>& prior_deviations(const ExecutorModel& executor);

}  // namespace penstock
