// CUPTI's records and codes as ours. With cupti_tracer.cc the only code that includes CUPTI, whose
// record types carry a number that changes with the toolkit: here, and nowhere else, they are
// named.
#pragma once

#include <optional>
#include <string>

#include <cupti.h>

#include "profiler/activity.h"

namespace penstock {

// Of CUPTI 13. Only members are used that have stood at the same place since CUDA 12, so a newer
// library that still has these kinds is read rightly.
static_assert(CUPTI_API_VERSION >= 130000, "older toolkits name their records otherwise");
using CuptiKernel = CUpti_ActivityKernel10;
using CuptiMemcpy = CUpti_ActivityMemcpy6;
using CuptiMemset = CUpti_ActivityMemset4;
using CuptiOverhead = CUpti_ActivityOverhead3;

// Nothing for kinds that nobody asked for.
std::optional<ActivityRecord> activity_of(const CUpti_Activity& record);

// `what` completes "cannot ...".
void check_cupti(CUptiResult code, const std::string& what);

}  // namespace penstock
