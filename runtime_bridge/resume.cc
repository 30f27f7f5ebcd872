// Settings of both runs are compared as texts, one by one. Data, seed, precision, batch and
// sequence length decide which samples come next, so a difference is refused unless --may-change
// names it; settings of the optimizer may change and are noted. The model must be the same but for
// its precision and the place of its archive.
#include "runtime_bridge/resume.h"

#include <algorithm>

#include "core/values/error.h"
#include "core/values/json.h"
#include "runtime_bridge/rank_program.h"
#include "training/learning_rate.h"

namespace penstock {
namespace {

// What a checkpoint must agree with: the sections, not in which precision they are computed, nor
// where an archive lies, since its hash says which it is.
std::string words_of_model(const PlanFile& plan) {
  ModelDescription model = model_of(plan);
  model.precision = Precision::kFloat32;
  model.division.reset();
  if (!model.archive_hash.empty()) model.archive = "archive";
  return to_text(write_description(model), 1 << 20);
}

// A setting as people read it, there and here; equal texts are no difference.
struct Setting {
  std::string name;   // of changeable_settings(); empty: any change was asked for
  std::string place;  // in the manifest
  std::string words;  // "the seed"
  std::string there, here;
  std::string remedy;  // but for allowing it
};

std::string number(double value) { return to_text(Json(value)); }
std::string number(std::int64_t value) { return to_text(Json(value)); }

std::string words_of(const CheckpointData& data) {
  return data.path + " (" + number(data.bytes) + " bytes, " + data.checksum + ")";
}

// Files are the same if their contents are.
Setting data_setting(const CheckpointData& there, const CheckpointData& here) {
  const bool same = there.bytes == here.bytes && there.checksum == here.checksum;
  return {"data",
          "/data",
          "the data",
          words_of(there),
          same ? words_of(there) : words_of(here),
          "name that file with --data"};
}

std::string words_of_batch(const CheckpointInfo& info) {
  if (info.tokens_per_batch > 0) return std::to_string(info.tokens_per_batch) + " tokens";
  return std::to_string(info.global_batch);
}

std::vector<Setting> run_settings(const CheckpointInfo& there, const CheckpointInfo& here) {
  const std::string batch = words_of_batch(there);
  return {
      data_setting(there.data, here.data),
      {"seed", "/training/seed", "the seed", to_text(Json(there.options.seed)),
       to_text(Json(here.options.seed)), "leave out --seed"},
      {"precision", "/precision", "the precision", std::string(name_of(there.precision)),
       std::string(name_of(here.precision)), "plan with a profile of the first"},
      {"global-batch", there.tokens_per_batch > 0 ? "/tokens_per_batch" : "/global_batch",
       "the global batch", batch, words_of_batch(here),
       there.tokens_per_batch > 0
           ? "train with --tokens-per-batch " + std::to_string(there.tokens_per_batch)
           : "plan with --global-batch " + batch},
      {"sequence-length", "/sequence_length", "the sequence length",
       std::to_string(there.sequence_length), std::to_string(here.sequence_length),
       "plan for the first"},
  };
}

std::vector<Setting> optimizer_settings(const TrainingOptions& there, const TrainingOptions& here) {
  const auto setting = [](const std::string& words, double before, double after) {
    return Setting{"", "", words, number(before), number(after), ""};
  };
  const auto steps = [](const std::string& words, std::int64_t before, std::int64_t after) {
    return Setting{"", "", words, number(before), number(after), ""};
  };
  return {setting("the learning rate", there.learning_rate, here.learning_rate),
          Setting{"", "", "the schedule of the learning rate", std::string(name_of(there.schedule)),
                  std::string(name_of(here.schedule)), ""},
          steps("the number of warm-up steps", there.warmup_steps, here.warmup_steps),
          steps("the step from which the learning rate is the least", there.decay_steps,
                here.decay_steps),
          setting("the least learning rate", there.least_learning_rate, here.least_learning_rate),
          setting("the weight decay", there.weight_decay, here.weight_decay),
          setting("the clip norm", there.clip_norm, here.clip_norm),
          setting("the momentum", there.momentum, here.momentum),
          setting("beta1", there.beta1, here.beta1),
          setting("beta2", there.beta2, here.beta2),
          setting("epsilon", there.epsilon, here.epsilon)};
}

// "hidden 32 (here 64), layers 2 (here 4)"; both texts, where they are no descriptions.
std::string difference(const std::string& there, const std::string& here) {
  if (!there.starts_with('{') || !here.starts_with('{')) return there + " (here " + here + ")";
  const Json before = parse_json(there, "model"), now = parse_json(here, "model");
  std::string words;
  const auto add = [&words](const std::string& key, const Json* a, const Json* b) {
    if (a != nullptr && b != nullptr && *a == *b) return;
    words += (words.empty() ? "" : ", ") + key + ' ' + (a != nullptr ? to_text(*a) : "absent") +
             " (here " + (b != nullptr ? to_text(*b) : "absent") + ")";
  };
  for (const Json::Member& member : before.members()) {
    add(member.first, &member.second, now.find(member.first));
  }
  for (const Json::Member& member : now.members()) {
    if (before.find(member.first) == nullptr) add(member.first, nullptr, &member.second);
  }
  return words;
}

}  // namespace

CheckpointInfo checkpoint_info(const PlanFile& plan, const std::string& plan_hash,
                               const TrainOptions& options, const CheckpointData& data) {
  CheckpointInfo info;
  info.model = words_of_model(plan);
  info.sections = static_cast<int>(plan.section_names.size());
  info.section_names = plan.section_names;
  info.plan_hash = plan_hash;
  info.precision = model_of(plan).precision;
  info.global_batch = plan.plan.global_batch;
  info.sequence_length = plan.plan.sequence_length;
  if (!options.data.documents.empty()) {
    info.global_batch = 1;
    info.sequence_length = options.data.longest;
    info.tokens_per_batch = options.data.tokens_per_batch;
  }
  info.data = data;
  info.options = options.training;
  return info;
}

const std::vector<std::string>& changeable_settings() {
  static const std::vector<std::string> kNames{"data", "seed", "precision", "global-batch",
                                               "sequence-length"};
  return kNames;
}

namespace {

// Momentum that begins in the middle of a run has no past; torch.optim would begin it at zero
// without a word.
void require_momentum(const CheckpointInfo& there, const CheckpointInfo& here,
                      const std::string& file) {
  if (there.options.momentum != 0.0 || here.options.momentum == 0.0) return;
  throw_bad_input(file +
                  "/training/momentum: the checkpoint was made without momentum and holds "
                  "none, this run has " +
                  number(here.options.momentum) + "\nhelp: leave out --momentum");
}

}  // namespace

std::vector<std::string> check_resumed(const Checkpoint& checkpoint, const CheckpointInfo& here,
                                       const std::vector<std::string>& may_change) {
  const CheckpointInfo& there = checkpoint.manifest.info;
  const std::string file = checkpoint.path + "/manifest.json: ";
  if (there.model != here.model) {
    throw_bad_input(
        file + "/model: is a checkpoint of another model: " + difference(there.model, here.model) +
        "\nhelp: give this run its own checkpoint folder");
  }
  std::vector<std::string> notes;
  const auto note = [&notes](const Setting& setting) {
    notes.push_back(setting.words + " is " + setting.here +
                    " from here on; the checkpoint was made with " + setting.there);
  };
  for (const Setting& setting : run_settings(there, here)) {
    if (setting.there == setting.here) continue;
    if (std::ranges::find(may_change, setting.name) == may_change.end()) {
      throw_bad_input(file + setting.place + ": the checkpoint was made with " + setting.words +
                      ' ' + setting.there + ", this run has " + setting.here + "\nhelp: " +
                      setting.remedy + ", or ask for the change with --may-change " + setting.name);
    }
    note(setting);
  }
  require_momentum(there, here, file);
  for (const Setting& setting : optimizer_settings(there.options, here.options)) {
    if (setting.there != setting.here) note(setting);
  }
  return notes;
}

}  // namespace penstock
