#include "cli/options/question_words.h"

#include <fmt/format.h>

#include "cli/options/executor_options.h"
#include "cli/options/measured_runs.h"
#include "cli/options/model_input.h"
#include "cli/verbs/verbs.h"
#include "report/words.h"

namespace penstock {

std::string words_of(const Question& question) {
  const SearchRequest& request = question.request;
  std::string text =
      fmt::format("{} on {}: at most {}, global batch {}", question.profile.value.name,
                  question.cluster.value.name, count_of(request.gpus, "GPU"), request.global_batch);
  if (request.sequence_length > 0) {
    text += fmt::format(", sequence length {}", request.sequence_length);
  }
  text += ", executor " + question.executor.name;
  if (question.estimated) text += "; " + headline_of(*question.estimated);
  if (!question.measured) return text;
  for (const std::string& line : words_of(*question.measured)) text += "; " + line;
  return text;
}

std::vector<std::string> notes_of(const Question& question) {
  if (!question.estimated) return {};
  std::vector<std::string> notes = notes_of(*question.estimated);
  if (question.cluster.file.path != kAssumedCluster) return notes;
  const ClusterSpec& cluster = question.cluster.value;
  std::string text = fmt::format("assumed: {} GPUs a node, {} inside ({} GB/s per direction)",
                                 cluster.node_types.front().devices, cluster.levels.front().name,
                                 fixed(cluster.levels.front().bandwidth.value / 1e9, 0));
  if (cluster.levels.size() > 1) {
    text += fmt::format(", {} GB/s per GPU between nodes",
                        fixed(cluster.levels.back().bandwidth.value / 1e9, 1));
  }
  notes.push_back(text + "; give --cluster for yours");
  return notes;
}

std::string origin_of(const Question& question) {
  return fmt::format("penstock {}; {} {}; {} {}", version(), question.profile.file.path,
                     question.profile.file.hash, question.cluster.file.path,
                     question.cluster.file.hash);
}

void set_question(Json& json, const Question& question) {
  const auto input = [](const InputFile& file) {
    return Json::object().set("path", file.path).set("hash", file.hash);
  };
  json.set("tool_version", std::string(version()));
  json.set("model", question.profile.value.name);
  json.set("cluster", question.cluster.value.name);
  json.set("inputs", Json::object()
                         .set("profile", input(question.profile.file))
                         .set("cluster", input(question.cluster.file)));
  if (question.estimated) {
    json.set(
        "estimated",
        to_json(*question.estimated)
            .set("cluster", question.cluster.file.path == kAssumedCluster ? "assumed" : "given"));
  }
  json.set("executor", words_of(question.executor));
  json.set("gpus", question.request.gpus);
  json.set("global_batch", question.request.global_batch);
}

}  // namespace penstock
