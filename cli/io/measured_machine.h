// The GPUs that nccl-tests ran on, by the lines of ranks above a table: what a cluster is assumed
// of, and what one that is there is compared with.
#pragma once

#include <string>
#include <vector>

#include "cli/io/answer.h"
#include "core/values/cluster.h"
#include "report/imports/nccl_tests.h"

namespace penstock {

// Whether the file is a table of nccl-tests with all that an import needs.
bool is_nccl_table(const std::string& file);

// As many as are assumed for the test: of several hosts all GPUs of their nodes, so that its ranks
// meet over the network as they did.
int gpus_for(const NcclTest& test, const std::string& device);

// "--device a100-sxm-80gb --gpus 8", as options of `import`; examples where no file says it, and
// NAME for a GPU that has no datasheet.
Arguments machine_measured(const std::vector<std::string>& files);

// "nccl.txt ran on NVIDIA A100-SXM4-80GB, and the cluster has h100-sxm: .."; empty where the
// cluster has such a GPU, by any of its names, or where one of the two has no datasheet.
std::string note_on_other_gpus(const NcclTest& test, const ClusterSpec& cluster);

}  // namespace penstock
