// How a planned job is started: run.sh (torchrun, on every node), job.sbatch (Slurm) and sky.yaml
// (SkyPilot). Each finds its neighbours by its own place, wherever it is started from.
#pragma once

#include <string>
#include <string_view>

#include "trainers/exports/export_plan.h"

namespace penstock {

struct JobWords {
  std::string_view trainer;  // as the header of files names it
  std::string prepare;       // shell lines before the start; $here is the folder of the files
  std::string launch;        // what torchrun starts, without "$@"
  std::string setup;         // shell lines that install the trainer on a fresh node (SkyPilot)
  std::string clone;         // shell line that tells run.sh where that is; empty: it need not know
};

// Nodes of a plan: its ranks fill one after the other.
struct JobNodes {
  int nodes = 1;
  int devices = 1;  // of a node; the last one may be used in part
};
JobNodes job_nodes(const PlanFile& plan);

// Adds the files behind those of the trainer.
void add_job_files(Export& answer, const PlanFile& plan, const ExportRequest& request,
                   const JobWords& words);

}  // namespace penstock
