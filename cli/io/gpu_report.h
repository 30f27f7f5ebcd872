// What `penstock profile` says of a GPU besides the times of sections: what those consist of by
// the tracer, and copies between host and device. In tables and JSON.
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"
#include "profiler/copy_samples.h"
#include "profiler/section_samples.h"
#include "profiler/trace_samples.h"
#include "report/screen.h"

namespace penstock {

// Per type and phase, beside the untraced times of `chains`; then what tracing costs. Traces that
// are void have no rows. Empty without traces.
std::string traces_report(const std::vector<TraceSamples>& traces,
                          const std::vector<ChainSamples>& chains, Screen screen);
// Per section and phase; `names` are those of all sections of the model.
Json traces_json(const std::vector<TraceSamples>& traces, const std::vector<std::string>& names);

// Bandwidths per size, then latency and bandwidth of the line through each way, with its error.
// Idle first, then under load where that was measured.
std::string copies_report(const std::vector<CopySample>& samples, Screen screen);
// The raw table, with percentiles.
Json copies_json(const std::vector<CopySample>& samples);

}  // namespace penstock
