// Why candidates were left out, what a prediction rests on, what was not searched: as sentences.
#pragma once

#include <string>
#include <vector>

#include "core/values/evaluation.h"
#include "report/screen.h"

namespace penstock {

// "214 candidates: stage 0 over memory by 1.2 to 9.7 GiB; smallest change that would fit: ..."
std::string rejection_text(const Rejection& rejection);

// The same without the count: why one plan does not run.
std::string reason_text(const Rejection& rejection);

// Lists of lines, indented by two, broken at 100 columns; empty for an empty list. Assumptions that
// touch most come first; one that touches memory only has no share of the time.
std::string rejections_text(const std::vector<Rejection>& rejections, Screen screen);
std::string assumptions_text(const std::vector<Assumption>& assumptions, Screen screen);
std::string list_text(const std::vector<std::string>& lines, Screen screen);

// How much faster what the search has not seen could be at most; empty when that is not known.
std::string certificate_text(const SearchResult& result);
// "1,234 candidates: 200 replayed, 820 skipped because their lower bound already loses, ..."
std::string counts_text(const SearchResult& result);

}  // namespace penstock
