#include "trainers/deepspeed/deepspeed.h"

#include "trainers/lint/claims.h"
#include "trainers/trainer_rows.h"

namespace penstock {
namespace {

// A JSON object that DeepSpeed would read; nothing of ours has such keys.
bool is_configuration(std::string_view text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (text[first] != '{' && text[first] != '/')) return false;
  if (!has_any(text, {"\"train_batch_size\"", "\"train_micro_batch_size_per_gpu\"",
                      "\"zero_optimization\"", "\"gradient_accumulation_steps\""})) {
    return false;
  }
  const Json json = parse_json(text, file);
  return json.kind() == Json::Kind::kObject && json.find("format") == nullptr;
}

Claim claim(std::string_view text, const std::string& file) {
  if (is_configuration(text, file)) return Claim::kConfiguration;
  const bool starts =
      is_script(file) && has_any(text, {"--deepspeed_config", "--ds_config", "--deepspeed ",
                                        "\ndeepspeed ", " deepspeed "});
  return starts ? Claim::kMaybe : Claim::kNone;
}

}  // namespace

TrainerRow deepspeed_row() {
  return {
      .name = "deepspeed",
      .folder = "deepspeed",
      .title = "DeepSpeed",
      .exporter =
          Exporter{"ds_config.json and the PipelineModule with the plan's cuts", export_deepspeed},
      .linter = Linter{.title = "DeepSpeed",
                       .lint = lint_deepspeed,
                       .claim = claim,
                       .memory = {"ZeRO \"stage\": 1", "", "\"activation_checkpoint_interval\": 1",
                                  "\"train_micro_batch_size_per_gpu\":"},
                       .needs_stages = true}};
}

}  // namespace penstock
