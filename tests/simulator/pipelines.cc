#include "tests/simulator/pipelines.h"

#include <algorithm>
#include <utility>

#include "simulator/simulate.h"

namespace penstock::testing {

StagePrices equal_prices(int stages, int chunks, const RankCosts& costs) {
  StagePrices prices;
  prices.stages = stages;
  ComputePrice compute;
  compute.forward.duration = Duration{costs.forward / chunks};
  compute.input_gradient.duration = Duration{costs.input_gradient / chunks};
  compute.weight_gradient.duration = Duration{costs.weight_gradient / chunks};
  compute.fused_backward.duration =
      Duration{(costs.input_gradient + costs.weight_gradient) / chunks};
  compute.recompute.duration = compute.forward.duration;
  const auto count = static_cast<std::size_t>(stages);
  prices.compute.assign(count, compute);
  TransferPrice transfer;
  transfer.activation.duration = transfer.gradient.duration = Duration{costs.transfer};
  prices.transfer.assign(count, transfer);
  prices.transfer.back() = {};
  prices.step.resize(count);
  return prices;
}

PipelineInput input_of(Schedule schedule) {
  PipelineInput input;
  input.micro_batches.resize(static_cast<std::size_t>(schedule.micro_batches));
  input.schedule = std::move(schedule);
  return input;
}

Program lowered(std::string_view schedule, const ScheduleShape& shape) {
  return lower({input_of(make_schedule(schedule, shape))}, {});
}

TimelineSummary summary_of(std::string_view schedule, const ScheduleShape& shape,
                           const RankCosts& costs) {
  return simulate_summary(lowered(schedule, shape),
                          equal_prices(shape.ranks * shape.chunks, shape.chunks, costs), {});
}

Duration makespan_of(std::string_view schedule, const ScheduleShape& shape,
                     const RankCosts& costs) {
  return summary_of(schedule, shape, costs).makespan;
}

namespace {

void append_word(std::string& text, const std::string& word) {
  if (!text.empty()) text += ' ';
  text += word;
}

}  // namespace

std::string text_of(const Schedule& schedule, int rank) {
  return text_of(schedule, rank, [&](const ComputeAction& action) {
    const std::string stage = schedule.chunks > 1 ? std::to_string(action.stage.value) : "";
    return stage + std::string(name_of(action.kind)) + std::to_string(action.micro_batch.value);
  });
}

std::string text_of(const Schedule& schedule, int rank,
                    const std::function<std::string(const ComputeAction&)>& name) {
  std::string text;
  bool second = false;  // of an OVERLAP
  for (const ComputeAction& action : schedule.list(rank)) {
    if (second) {
      text += ';' + name(action) + ')';
    } else {
      append_word(text, (action.overlaps_next ? "(" : "") + name(action));
    }
    second = action.overlaps_next;
  }
  return text;
}

std::string signed_text_of(const Schedule& schedule, int rank) {
  std::string text;
  for (const ComputeAction& action : schedule.list(rank)) {
    const int chunk = action.stage.value / schedule.ranks + 1;
    append_word(text, std::to_string(action.kind == ActionKind::kForward ? chunk : -chunk));
  }
  return text;
}

std::string text_of(const Program& program, int rank) {
  std::string text;
  for (const Action& action : program.actions) {
    if (program.rank_of(action).value == rank) append_word(text, name_of(program, action));
  }
  return text;
}

std::uint64_t Random::next() {
  state_ += 0x9E37'79B9'7F4A'7C15U;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D0'49BB'1331'11EBU;
  return z ^ (z >> 31U);
}

int Random::between(int low, int high) {
  const auto width = static_cast<std::uint64_t>(high - low) + 1;
  return low + static_cast<int>(next() % width);
}

namespace {

ScheduleShape random_shape(Random& random, const ScheduleKind& kind, int most_ranks,
                           int most_micro_batches) {
  ScheduleShape shape;
  shape.ranks = random.between(1, most_ranks);
  shape.chunks = kind.most_chunks == 0 ? random.between(2, 3) : kind.fewest_chunks;
  shape.micro_batches = random.between(1, most_micro_batches);
  if (kind.has_groups && random.coin()) shape.group = random.between(1, most_micro_batches);
  if (kind.has_slices) {
    shape.slices = random.between(1, 3);
    shape.micro_batches = std::max(1, shape.micro_batches / shape.slices);
  }
  return shape;
}

}  // namespace

Schedule random_schedule(Random& random, int most_ranks, int most_micro_batches) {
  const auto kinds = schedule_kinds();
  while (true) {
    const ScheduleKind& kind =
        kinds[static_cast<std::size_t>(random.between(0, static_cast<int>(kinds.size()) - 1))];
    if (kind.is_automatic() || kind.rule != RunTimeRule::kNone) continue;
    // Few shapes suit those that want an even P or M of 2P or more.
    for (int attempt = 0; attempt < 30; ++attempt) {
      const ScheduleShape shape = random_shape(random, kind, most_ranks, most_micro_batches);
      if (why_no_schedule(kind, shape).empty()) return kind.generate(shape);
    }
  }
}

StagePrices random_prices(Random& random, int stages, int shapes,
                          const std::vector<std::string>& ties) {
  // Few distinct values, zero among them, so that ties in time are frequent.
  const auto price = [&] { return Price{Duration{random.between(0, 7)}, Duration{}}; };
  StagePrices prices;
  prices.stages = stages;
  prices.shapes = shapes;
  for (int i = 0; i < stages * shapes; ++i) {
    ComputePrice compute;
    compute.forward = price();
    compute.input_gradient = price();
    compute.weight_gradient = price();
    compute.fused_backward = price();
    compute.recompute = price();
    compute.overlap_gain = price().duration;
    prices.compute.push_back(compute);
    prices.transfer.push_back({price(), price()});
  }
  std::fill_n(prices.transfer.end() - shapes, shapes, TransferPrice{});
  for (int s = 0; s < stages; ++s) {
    StepPrice step;
    step.reduce_gradient = price();
    step.optimizer = price();
    step.unshard = price();
    prices.step.push_back(step);
  }
  for (const std::string& tie : ties) prices.tied_reduce.push_back({tie, price()});
  prices.norm = price();
  return prices;
}

namespace {

LoweringOptions random_lowering(Random& random, int stages) {
  LoweringOptions options;
  options.recompute = random.coin();
  options.transfers = random.between(0, 3) > 0;
  options.step_actions = random.between(0, 3) > 0;
  options.reduce_gradients = random.coin();
  options.unshard = options.reduce_gradients && random.coin();
  if (random.coin()) options.optimizer = OptimizerGate::kPostValidation;
  if (stages > 1 && random.coin()) options.tied.push_back({"embedding", {0, stages - 1}});
  if (stages > 2 && random.coin()) options.tied.push_back({"other", {0, 1, stages - 1}});
  return options;
}

}  // namespace

PricedProgram random_program(Random& random, const RandomProgramOptions& limits) {
  const Schedule schedule = random_schedule(random, 5, 9);
  const int shapes = random.between(1, 3);
  std::vector<PipelineInput> pipelines{input_of(schedule)};
  if (!limits.one_pipeline && random.coin()) {
    ScheduleShape shorter;
    shorter.ranks = schedule.ranks;
    shorter.chunks = schedule.chunks;
    shorter.micro_batches = random.between(1, schedule.micro_batches);
    if (why_no_schedule(*find_schedule(schedule.name), shorter).empty()) {
      pipelines.push_back(input_of(make_schedule(schedule.name, shorter)));
    }
  }
  for (PipelineInput& pipeline : pipelines) {
    for (MicroBatch& micro_batch : pipeline.micro_batches) {
      micro_batch.shape = random.between(0, shapes - 1);
    }
  }
  LoweringOptions options = random_lowering(random, schedule.stages());
  options.issue = limits.issue;
  PricedProgram result;
  result.program = lower(pipelines, options);
  result.prices = random_prices(random, schedule.stages(), shapes, names_of(options.tied));
  return result;
}

void add_random_step_actions(Random& random, int stages, LoweringOptions& options) {
  options.step_actions = random.coin();
  options.reduce_gradients = random.coin();
  options.unshard = options.reduce_gradients && random.coin();
  if (random.coin()) options.optimizer = OptimizerGate::kPostValidation;
  if (stages > 1 && random.coin()) options.tied.push_back({"embedding", {0, stages - 1}});
  options.offload = options.step_actions && random.coin();
}

}  // namespace penstock::testing
