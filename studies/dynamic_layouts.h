// The layouts that a study of batches of different lengths compares: T, P and D for all GPUs, each
// with the cuts that suit its micro-batches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/plan.h"
#include "search/dynamic/length_batch.h"
#include "search/question.h"

namespace penstock {

// The sizes that cuts are chosen by.
struct TypicalBatch {
  double samples = 1.0;  // of a global batch
  SampleLength mean;     // of a sample, as it is fed
};
TypicalBatch typical_of(const std::vector<LengthBatch>& batches, const LengthRounding& rounding);

struct DynamicLayout {
  Plan plan;           // with cuts; without schedule and batch
  ErrorBand interval;  // of its step times, relative to them
};
struct DynamicLayouts {
  std::string device;
  std::vector<std::string> modes;  // of recompute that may be used
  std::vector<DynamicLayout> found;
  std::vector<std::string> left_out;  // why other layouts are none, each reason once
};

// All T x P x D that make up the GPUs of the question and that its pins admit, D at most as large
// as a batch has samples; V as pinned, else 1; ZeRO-1 where there are replicas. The profile must
// hold the device type: Error{kBadInput} when the question leaves it open.
DynamicLayouts dynamic_layouts(const Question& question, const TypicalBatch& typical);

// The same layout with other cuts, several stages per rank, or replicas side by side: what the pins
// admit of it.
std::vector<DynamicLayout> dynamic_variants(const Question& question, const DynamicLayouts& layouts,
                                            const DynamicLayout& of, const TypicalBatch& typical);

}  // namespace penstock
