// What a run steps by is put together from three places: what was given, a checkpoint, and the
// defaults. merged() takes each number from the first that has it; check_schedule() then looks at
// the result as a whole, because a warm-up that was given may not fit a decay that the checkpoint
// brings.
#include "cli/options/optimizer_settings.h"

#include "cli/words/parse.h"
#include "core/values/json.h"
#include "training/learning_rate.h"

namespace penstock {

void OptimizerSettings::declare(Options& options) {
  options.heading("Optimizer (with --resume the defaults are the checkpoint's values)");
  options.option("--learning-rate", "X", "the highest learning rate; default 0.001",
                 learning_rate_);
  options.option(
      "--lr-schedule", "NAME",
      "constant (default); linear or cosine: from the end of the warm-up down to --min-lr",
      schedule_);
  options.choices({"constant", "linear", "cosine"});
  options.option("--warmup-steps", "N",
                 "steps over which the learning rate rises linearly; step N is the first at the "
                 "full rate. Default 0",
                 warmup_);
  options.option("--min-lr", "X", "the learning rate at which linear and cosine end; default 0",
                 least_rate_);
  options.option("--lr-decay-steps", "N",
                 "step at which the learning rate reaches --min-lr; default --steps", decay_steps_);
  options.option("--weight-decay", "X", "weight decay, on matrices only; default 0", weight_decay_);
  options.option("--beta1", "X", "AdamW: decay of the mean of gradients; default 0.9", beta1_);
  options.option("--beta2", "X", "AdamW: decay of the mean of squared gradients; default 0.95",
                 beta2_);
  options.option("--eps", "X", "AdamW: added to the denominator; default 1e-8", epsilon_);
  options.option("--momentum", "X", "SGD: momentum; default 0", momentum_);
  options.option("--clip-norm", "X", "clip gradients to this global norm; default: no clipping",
                 clip_norm_);
  options.names_given(given_);
}

const std::vector<std::string>& OptimizerSettings::names() {
  static const std::vector<std::string> all{
      "--learning-rate", "--weight-decay", "--clip-norm",      "--lr-schedule",
      "--warmup-steps",  "--min-lr",       "--lr-decay-steps", "--beta1",
      "--beta2",         "--eps",          "--momentum"};
  return all;
}

TrainingOptions OptimizerSettings::merged(const TrainingOptions& otherwise, int steps) const {
  TrainingOptions options = otherwise;
  options.learning_rate =
      parse_rate("--learning-rate", learning_rate_, 1e3, otherwise.learning_rate);
  options.weight_decay = parse_rate("--weight-decay", weight_decay_, 1e3, otherwise.weight_decay);
  options.clip_norm = parse_rate("--clip-norm", clip_norm_, 1e9, otherwise.clip_norm);
  options.momentum = parse_share("--momentum", momentum_, otherwise.momentum);
  options.beta1 = parse_share("--beta1", beta1_, otherwise.beta1);
  options.beta2 = parse_share("--beta2", beta2_, otherwise.beta2);
  options.epsilon = parse_rate("--eps", epsilon_, 1.0, otherwise.epsilon);
  merge_schedule(options, steps);
  return options;
}

void OptimizerSettings::merge_schedule(TrainingOptions& options, int steps) const {
  if (schedule_) {
    const auto schedule = learning_rate_schedule_named(*schedule_);
    if (!schedule) {
      unknown_word("--lr-schedule", *schedule_, {"constant", "linear", "cosine"}, "schedule ");
    }
    options.schedule = *schedule;
  }
  if (warmup_) options.warmup_steps = parse_int("--warmup-steps", *warmup_, 0);
  if (least_rate_) options.least_learning_rate = parse_number("--min-lr", *least_rate_, 0.0, 1e3);
  if (decay_steps_) options.decay_steps = parse_int("--lr-decay-steps", *decay_steps_, 1);
  const bool is_constant = options.schedule == LearningRateSchedule::kConstant;
  if (!is_constant && options.decay_steps == 0) options.decay_steps = steps;
  if (is_constant && !decay_steps_) options.decay_steps = 0;
  if (is_constant && !least_rate_) options.least_learning_rate = 0.0;
}

void OptimizerSettings::check_schedule(const TrainingOptions& options) const {
  if (options.schedule == LearningRateSchedule::kConstant) {
    refuse_given(given_, {"--min-lr", "--lr-decay-steps"}, "a constant learning rate does not fall",
                 "add --lr-schedule cosine or linear, or leave it out");
    return;
  }
  if (options.least_learning_rate > options.learning_rate) {
    bad_option("--min-lr",
               to_text(Json(options.least_learning_rate)) + " is more than the learning rate, " +
                   to_text(Json(options.learning_rate)),
               "give a higher --learning-rate");
  }
  if (options.warmup_steps >= options.decay_steps) {
    bad_option("--warmup-steps",
               "the warm-up ends at step " + std::to_string(options.warmup_steps) +
                   ", and the learning rate has fallen to its least at step " +
                   std::to_string(options.decay_steps),
               "warm up for fewer steps, or give more --steps or --lr-decay-steps");
  }
}

void OptimizerSettings::require_optimizer(OptimizerKind kind) const {
  if (kind == OptimizerKind::kAdamW) {
    refuse_given(given_, {"--momentum"}, "the plan's model is trained with AdamW",
                 "its momentum is --beta1; or profile the model with --optimizer sgd");
    return;
  }
  refuse_given(given_, {"--beta1", "--beta2", "--eps"}, "the plan's model is trained with SGD",
               "leave it out; or profile the model with --optimizer adamw");
}

std::string OptimizerSettings::note_on_schedule(const TrainingOptions& resumed, int steps) const {
  const bool is_as_given = resumed.schedule == LearningRateSchedule::kConstant || decay_steps_;
  if (is_as_given || resumed.decay_steps == steps) return "";
  return "the learning rate falls until step " + std::to_string(resumed.decay_steps) +
         ", as the checkpoint says, and the run ends at step " + std::to_string(steps) +
         "; --lr-decay-steps changes that";
}

}  // namespace penstock
