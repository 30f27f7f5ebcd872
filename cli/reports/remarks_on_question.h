// What is answered as it was asked, and may not have been meant so, of searches: degrees that leave
// GPUs over, a batch that micro-batches do not divide, a name that several devices have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/search_options.h"
#include "report/comparison.h"
#include "search/best_plans.h"

namespace penstock {

// Each returns lines that begin with "note:", or nothing.

// `what`, "DP x mbs", is `round` samples, of which the batch is no multiple.
// What is proposed is a multiple of `step`.
std::string remark_of_uneven_batch(int global_batch, std::string_view what, std::int64_t round,
                                   std::int64_t step);
// Of a plan whose DP or micro-batch size the search chose.
std::string remark_of_uneven_plan(const SearchRequest& request, const Plan& plan);
// The best plan leaves GPUs idle because the batch has no work for more replicas.
std::string remark_of_idle_gpus(const SearchRequest& request, const Plan& plan);
// Groups of replicas were asked for, and all that share weights are one.
std::string remark_of_one_group(const SearchRequest& request, const Plan& plan);
std::string remarks_on_question(const SearchOptions& given, const SearchRequest& request);
// Where cluster and profile call a device otherwise.
std::string remark_of_alike(const Question& question);
// Where a network was asked for and is not used, and where the device is one of several types that
// the cluster has.
std::string remarks_on_machine(const SearchOptions& given, int gpus);

// What varies in a comparison: "P" and its values.
using Varied = std::vector<std::pair<std::string, std::vector<std::string>>>;
std::string remarks_on_rows(const SearchOptions& given, const Varied& varied,
                            const SearchRequest& request, const std::vector<Variant>& rows);

}  // namespace penstock
