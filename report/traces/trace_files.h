// A StepTrace as files that viewers read: Perfetto's JSON, Kineto's shape for HolisticTraceAnalysis
// (HTA), and prediction and measurement in one archive. docs/traces.md says how each is opened.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/values/plan_file.h"
#include "report/traces/step_trace.h"

namespace penstock {

struct NamedText {
  std::string name;  // of the file, without a folder
  std::string text;
  bool operator==(const NamedText&) const = default;
};

// What ui.perfetto.dev and the trace processor read. One process per rank of the job; a track for
// compute, for sends (several when they overlap) and for collectives; an arrow from every send to
// what it feeds; memory as counters. `metadata`, an object, goes to Perfetto's info page.
std::string perfetto_json(const StepTrace& trace, const Json& metadata);

// One rank<N>_trace.json per shown rank, in the form that PyTorch's profiler writes and HTA reads.
// Every action is a kernel inside a gpu_user_annotation "PP:<action>".
std::vector<NamedText> kineto_files(const StepTrace& trace, const PlanFile& plan);

// An uncompressed TAR (ustar), the same bytes for the same files: no times, no owners.
// Error{kInternal} for a name longer than 100 characters.
std::string tar_of(const std::vector<NamedText>& files);

// perfetto_manifest.json: the two traces as two machines on one clock. It goes first into the
// archive.
NamedText perfetto_manifest(const std::vector<std::string>& traces);

// Microseconds of a moment, and from one moment to another, on a grid of 1/4096 of them. What lies
// on it is exact in floating point, and so is every sum and difference: slices that touch still
// touch after a viewer has added start and duration, and none reaches into the next. The grid is
// finer than a quarter of a nanosecond, so a viewer that rounds to nanoseconds has the exact ones.
std::string trace_time(Duration time);
std::string trace_length(Duration start, Duration end);

}  // namespace penstock
