// What `penstock multi` schedules: the jobs of a file as options and units, from predictions, books
// and what the file itself says; and the GPUs as nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "multi/gang.h"
#include "multi/jobs_file.h"
#include "multi/schedule_models.h"
#include "report/page/report_data.h"

namespace penstock {

// As they were typed.
struct MultiSettings {
  std::optional<std::string> gpus, cluster, device, gpus_per_node, gpus_per_link, host_link, seed,
      threads, trainer;
};

struct AskedMulti {
  MultiQuestion question;
  // Of every job, where one runs already: on which option, and how long that takes to its end.
  std::vector<std::optional<RunningGang>> running;
  std::vector<std::string> notes;  // where times come from
  std::vector<ReportInput> inputs;
  bool complete = true;  // false: Ctrl-C ended a search, and the rest is not filled in
};

// Searches a book of plans for every model of the file, equal ones once. Error{kBadInput} for a
// job that no number of GPUs can run, and for what the file and the options say of GPUs that do not
// exist.
AskedMulti multi_question(const JobsFile& file, const std::string& path,
                          const MultiSettings& settings);

}  // namespace penstock
