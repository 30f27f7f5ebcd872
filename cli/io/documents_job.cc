#include "cli/io/documents_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include "cli/io/environment.h"
#include "cli/verbs/verbs.h"
#include "core/values/json_reader.h"
#include "runtime_bridge/plan_message.h"

namespace penstock {

PlanJob files_of_job(const PlanFile& layout, const DocumentPlans& plans, const TrainingData& data) {
  PlanJob job;
  job.tool_version = version();
  job.layout = content_hash(layout_text(layout));
  job.profile = plans.profile().hash;
  job.cluster = plans.cluster().hash;
  job.documents = data.file.checksum;
  return job;
}

std::string process_words() {
  return fmt::format("pid {} on host {}", getpid(), this_machine().host);
}

}  // namespace penstock
