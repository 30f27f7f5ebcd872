// What `penstock profile` measured, in words, tables and JSON.
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"
#include "profiler/link_samples.h"
#include "profiler/section_samples.h"
#include "report/screen.h"

namespace penstock {

std::string gigabytes(BytesPerSecond rate);  // "12.3 GB/s"
// The object, with what is kept of the samples behind its own members.
Json summary_json(Json json, const SampleSummary& time);

std::string sections_report(const std::vector<ChainSamples>& chains, Screen screen);
// Per size: a transfer alone, bandwidth with several in flight, collectives with nccl-tests' bus
// bandwidth; then the line through the transfers, with its error. Idle first, then under load.
std::string links_report(const LinkSamples& samples, Screen screen);

// The raw table: every size and pattern with its percentiles.
Json links_json(const LinkSamples& samples);

}  // namespace penstock
