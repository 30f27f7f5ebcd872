// run.sh is the job's part of one node and the only file that knows the trainer; job.sbatch and
// sky.yaml just set NODE_RANK and MASTER_ADDR and start it. Where the last node has fewer ranks,
// run.sh works out its share. A plan of several device types has no sky.yaml, because SkyPilot has
// one type per cluster.
#include "trainers/exports/job_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "trainers/exports/export_parts.h"

namespace penstock {
namespace {

// Letters, digits and single dashes: what job names of Slurm and SkyPilot may hold.
std::string job_name(const std::string& model) {
  std::string name = "penstock";
  bool pending = true;
  for (const char c : model.substr(0, model.find('('))) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      pending = true;
      continue;
    }
    if (pending) name += '-';
    pending = false;
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

// Our names of devices and those of SkyPilot's catalogue.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kAccelerators{{
    {"v100-sxm-16gb", "V100"},
    {"v100-sxm-32gb", "V100-32GB"},
    {"a100-sxm-40gb", "A100"},
    {"a100-sxm-80gb", "A100-80GB"},
    {"a100-40gb", "A100"},
    {"a100-80gb", "A100-80GB"},
    {"a10g", "A10G"},
    {"l40s", "L40S"},
    {"h100-pcie", "H100"},
    {"h100-sxm", "H100"},
    {"h200-sxm", "H200"},
    {"b200", "B200"},
    {"gb200", "GB200"},
    {"gh200-96gb", "GH200"},
    {"mi300x", "MI300X"},
}};

std::string accelerator_of(const Plan& plan) {
  for (const auto& [device, name] : kAccelerators) {
    if (device == plan.device) return std::string(name);
  }
  std::string name;  // of what a name of theirs is made of; others would be YAML
  for (const char c : plan.device) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.') {
      name += static_cast<char>(std::toupper(byte));
    }
  }
  return name;
}

// The last node may hold fewer ranks than the others.
std::string devices_of_node(const PlanFile& file, const JobNodes& job) {
  const int devices = file.plan.devices();
  if (devices % job.devices == 0) return fmt::format("GPUS={}\n", job.devices);
  return fmt::format(
      "GPUS={0}\nLEFT=$(({1} - NODE_RANK * {0}))  # the plan takes {1}\n"
      "if ((LEFT < GPUS)); then GPUS=$LEFT; fi\n",
      job.devices, devices);
}

std::string run_script(const PlanFile& file, const ExportRequest& request, const JobWords& words) {
  const JobNodes job = job_nodes(file);
  std::string text = "#!/usr/bin/env bash\n" + header_of(file, request, words.trainer, "# ");
  if (job.nodes == 1) {
    text += "# Starts the job: bash run.sh, from any folder. Arguments go to the trainer.\n";
  } else {
    text += fmt::format(
        "# Starts the job's part of one node. Each of the {0} nodes runs it with its NODE_RANK (0 "
        "to\n# {1}) and with MASTER_ADDR, the name of node 0; job.sbatch (Slurm) and sky.yaml "
        "(SkyPilot) do that.\n# Arguments go to the trainer.\n",
        job.nodes, job.nodes - 1);
  }
  text += "set -euo pipefail\nhere=$(cd -- \"$(dirname -- \"${BASH_SOURCE[0]}\")\" && pwd)\n";
  if (job.nodes == 1) {
    text += "NODE_RANK=0\nMASTER_ADDR=${MASTER_ADDR:-127.0.0.1}\n";
  } else {
    text +=
        ": \"${NODE_RANK:?set it to the number of this node, counted from 0}\"\n"
        ": \"${MASTER_ADDR:?set it to the name or address of node 0}\"\n";
  }
  text += "MASTER_PORT=${MASTER_PORT:-29500}\n" + devices_of_node(file, job) + words.prepare;
  return text + fmt::format(
                    "exec torchrun --nnodes={} --nproc_per_node=\"$GPUS\" "
                    "--node_rank=\"$NODE_RANK\" \\\n  --master_addr=\"$MASTER_ADDR\" "
                    "--master_port=\"$MASTER_PORT\" \\\n  {} \"$@\"\n",
                    job.nodes, words.launch);
}

std::string sbatch_script(const PlanFile& file, const ExportRequest& request,
                          const JobWords& words) {
  const JobNodes job = job_nodes(file);
  return fmt::format(
             "#!/usr/bin/env bash\n#SBATCH --job-name={}\n#SBATCH --nodes={}\n"
             "#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node={}\n#SBATCH --exclusive\n"
             "#SBATCH --output=%x-%j.out\n",
             job_name(file.model), job.nodes, job.devices) +
         header_of(file, request, words.trainer, "# ") +
         R"(# Submit it from any folder that all nodes see: sbatch job.sbatch
set -euo pipefail
# Slurm runs a copy of this file; where it was submitted from stands in the job's record.
script=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Command=//p')
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n 1p)
MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))
export MASTER_ADDR MASTER_PORT
srun --kill-on-bad-exit=1 bash -c 'NODE_RANK=$SLURM_NODEID exec bash "$0"' \
  "$(dirname -- "$script")/run.sh"
)";
}

std::string indented(const std::string& lines) {
  std::string text;
  std::size_t begin = 0;
  while (begin < lines.size()) {
    const std::size_t end = lines.find('\n', begin);
    text += "  " + lines.substr(begin, end - begin) + '\n';
    begin = end == std::string::npos ? lines.size() : end + 1;
  }
  return text;
}

std::string sky_file(const PlanFile& file, const ExportRequest& request, const JobWords& words) {
  const JobNodes job = job_nodes(file);
  return header_of(file, request, words.trainer, "# ") +
         fmt::format(
             "# In this folder: sky launch sky.yaml\nname: {}\nnum_nodes: {}\nresources:\n"
             "  accelerators: {}:{}\nworkdir: .\nsetup: |\n{}run: |\n"
             "  export MASTER_ADDR=$(echo \"$SKYPILOT_NODE_IPS\" | sed -n 1p)\n"
             "  export NODE_RANK=$SKYPILOT_NODE_RANK\n",
             job_name(file.model), job.nodes, accelerator_of(file.plan), job.devices,
             indented(words.setup)) +
         (words.clone.empty() ? "" : "  " + words.clone + '\n') + "  bash run.sh\n";
}

}  // namespace

JobNodes job_nodes(const PlanFile& plan) {
  const int per_node = std::max(1, plan.cluster.devices_per_node);
  const int devices = plan.plan.devices();
  if (devices <= per_node) return {1, devices};
  return {(devices + per_node - 1) / per_node, per_node};
}

void add_job_files(Export& answer, const PlanFile& plan, const ExportRequest& request,
                   const JobWords& words) {
  answer.files.push_back({"run.sh", run_script(plan, request, words)});
  answer.files.push_back({"job.sbatch", sbatch_script(plan, request, words)});
  if (plan.plan.is_mixed()) {
    answer.notes.push_back(fmt::format(
        "the plan mixes device types ({}): rank 0 is on the first; start the nodes in that order, "
        "and ask Slurm for both kinds of nodes. SkyPilot has one type per cluster, so there is no "
        "sky.yaml",
        device_words(plan.plan)));
    return;
  }
  answer.files.push_back({"sky.yaml", sky_file(plan, request, words)});
}

}  // namespace penstock
