#include "runtime_bridge/evaluation.h"

#include <vector>

#include "training/ordered_samples.h"

namespace penstock {
namespace {

bool is_kept(ActionKind kind) {
  return kind == ActionKind::kForward || kind == ActionKind::kSendActivation ||
         kind == ActionKind::kReceiveActivation;
}

}  // namespace

bool is_evaluated(const EvaluationOptions& options, std::int64_t next_step, bool last) {
  return options.every > 0 && (last || next_step % options.every == 0);
}

RankProgram forward_only(const RankProgram& program) {
  RankProgram forward = program;
  forward.actions.clear();
  forward.waits.clear();  // they order what trains
  forward.signals.clear();
  forward.rule = RunTimeRule::kNone;  // rules are about recomputing
  std::vector<int> places(program.actions.size(), kNone);
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    if (!is_kept(program.actions[i].kind)) continue;
    places[i] = static_cast<int>(forward.actions.size());
    RankAction action = program.actions[i];
    if (action.needs != kNone) action.needs = places[static_cast<std::size_t>(action.needs)];
    forward.actions.push_back(action);
  }
  return forward;
}

EvaluationPass::EvaluationPass(const RankProgram& program, RankWork& work, Transport& transport,
                               Communicators& communicators, const ExecuteOptions& options)
    : program_(forward_only(program)),
      executor_(program_, work, transport, communicators, options) {}

// A batch's loss is the mean over its own tokens, of which masked models have now more, now fewer.
double EvaluationPass::loss(std::int64_t step, std::int64_t batches) {
  const RankSetup& setup = program_.setup;
  double sum = 0.0, tokens = 0.0;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const auto count = static_cast<double>(loss_tokens(setup.model, setup.options.seed,
                                                       EvaluationData::step_of_batch(batch),
                                                       setup.global_batch, setup.sequence_length));
    sum += executor_.evaluate(step, batch) * count;
    tokens += count;
  }
  return sum / tokens;
}

}  // namespace penstock
