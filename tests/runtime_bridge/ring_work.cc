#include "tests/runtime_bridge/ring_work.h"

#include <algorithm>
#include <stdexcept>

#include "tests/runtime_bridge/ring_arithmetic.h"

namespace penstock::testing {
namespace {

[[noreturn]] void out_of_turn(const std::string& what, int stage, int micro_batch) {
  throw std::logic_error(what + ", stage " + std::to_string(stage) + ", micro-batch " +
                         std::to_string(micro_batch));
}

Numbers taken(std::map<std::pair<int, int>, Numbers>& from, const std::string& what, int stage,
              int micro_batch) {
  const auto found = from.find({stage, micro_batch});
  if (found == from.end()) out_of_turn("no " + what, stage, micro_batch);
  Numbers numbers = std::move(found->second);
  from.erase(found);
  return numbers;
}

Buffer buffer_of(Numbers& numbers) {
  return {reinterpret_cast<std::byte*>(numbers.data()), numbers.size(), ElementType::kInt64};
}

}  // namespace

RingWork::RingWork(const RingModel& model, const RankSetup& setup)
    : RingWork(model, setup, first_weights(model), nullptr) {}
RingWork::RingWork(const RingModel& model, const RankSetup& setup, RingState& state)
    : RingWork(model, setup, state.weights(), &state) {}

RingWork::~RingWork() { give_back(); }

void RingWork::give_back() {
  if (state_ == nullptr) return;
  for (const OfStage& stage : stages_) {
    for (int k = stage.setup.first_section; k < stage.setup.end_section; ++k) {
      state_->set_section(k, section_weights(k));
      for (std::size_t t = 0; t < model_.ties.size(); ++t) {
        if (!state_->shares(k, t)) continue;
        state_->set_tie(k, t, tied_weight(static_cast<int>(t), stage.setup.stage));
      }
    }
  }
}

RingWork::RingWork(const RingModel& model, const RankSetup& setup, const RingWeights& weights,
                   RingState* state)
    : model_(model), setup_(setup), state_(state) {
  for (const StageSetup& stage : setup.stages) {
    stages_.push_back(first_of_stage(stage, weights));
    for (std::size_t t = 0; t < setup.ties.size(); ++t) {
      const std::vector<int>& tied = setup.ties[t].stages;
      if (std::find(tied.begin(), tied.end(), stage.stage) == tied.end()) continue;
      tied_[{static_cast<int>(t), stage.stage}] = weights.ties[of_model(static_cast<int>(t))];
    }
  }
}

RingWork::OfStage RingWork::first_of_stage(const StageSetup& setup,
                                           const RingWeights& weights) const {
  OfStage stage;
  stage.setup = setup;
  Numbers flat;
  for (int k = setup.first_section; k < setup.end_section; ++k) {
    const Numbers& own = weights.sections[static_cast<std::size_t>(k)];
    for (std::size_t j = 0; j < own.size(); ++j) {
      stage.places.emplace_back(k, j);
      flat.push_back(own[j]);
    }
  }
  // Ties within one stage are weights like others.
  for (int t = 0; t < static_cast<int>(model_.ties.size()); ++t) {
    const int first = model_.ties[static_cast<std::size_t>(t)].sections.front();
    const bool here = first >= setup.first_section && first < setup.end_section;
    if (is_shared(t) || !here) continue;
    stage.places.emplace_back(-1 - t, 0);
    flat.push_back(weights.ties[static_cast<std::size_t>(t)]);
  }
  const auto middle = flat.begin() + static_cast<std::ptrdiff_t>(flat.size() / 2);
  stage.weights = {Numbers(flat.begin(), middle), Numbers(middle, flat.end())};
  const auto holders = static_cast<std::size_t>(setup.holders);
  for (Numbers& bucket : stage.weights) {
    bucket.resize((bucket.size() + holders - 1) / holders * holders);
    stage.gradients.emplace_back(bucket.size());
  }
  return stage;
}

std::size_t RingWork::of_model(int tie) const {
  const std::string& name = setup_.ties[static_cast<std::size_t>(tie)].name;
  const auto found =
      std::find_if(model_.ties.begin(), model_.ties.end(),
                   [&name](const RingModel::Tie& of_model) { return of_model.name == name; });
  return static_cast<std::size_t>(found - model_.ties.begin());
}

bool RingWork::is_shared(int tie) const {
  const std::string& name = model_.ties[static_cast<std::size_t>(tie)].name;
  return std::any_of(setup_.ties.begin(), setup_.ties.end(),
                     [&name](const TieSetup& tied) { return tied.name == name; });
}

RingWork::OfStage& RingWork::of(int stage) {
  for (OfStage& own : stages_) {
    if (own.setup.stage == stage) return own;
  }
  throw std::logic_error("stage " + std::to_string(stage) + " is not on this rank");
}

std::int64_t& RingWork::at(std::vector<Numbers>& buckets, const OfStage& stage,
                           std::size_t place) const {
  const std::size_t half = stage.places.size() / 2;
  return place < half ? buckets[0][place] : buckets[1][place - half];
}

std::int64_t RingWork::weight(OfStage& stage, int section, std::size_t index) {
  const auto found = std::find(stage.places.begin(), stage.places.end(), std::pair(section, index));
  return at(stage.weights, stage, static_cast<std::size_t>(found - stage.places.begin()));
}

Numbers RingWork::section_weights(int section) const {
  auto* self = const_cast<RingWork*>(this);
  for (OfStage& stage : self->stages_) {
    if (section < stage.setup.first_section || section >= stage.setup.end_section) continue;
    Numbers numbers;
    for (std::size_t j = 0; j < weights_of_section(section); ++j) {
      numbers.push_back(self->weight(stage, section, j));
    }
    return numbers;
  }
  return {};
}

// Of the model's ties.
std::int64_t RingWork::tied_weight(int tie, int stage) const {
  auto* self = const_cast<RingWork*>(this);
  if (!is_shared(tie)) return self->weight(self->of(stage), -1 - tie, 0);
  const std::string& name = model_.ties[static_cast<std::size_t>(tie)].name;
  for (std::size_t t = 0; t < setup_.ties.size(); ++t) {
    if (setup_.ties[t].name == name) return tied_.at({static_cast<int>(t), stage});
  }
  throw std::logic_error("no such tie");
}

bool RingWork::is_empty() const {
  return inputs_.empty() && outputs_.empty() && output_gradients_.empty() &&
         input_gradients_.empty() && kept_inputs_.empty() && kept_gradients_.empty() &&
         recomputed_.empty();
}

std::int64_t RingWork::factor(OfStage& stage, int section) {
  std::int64_t sum = 0;
  for (std::size_t j = 0; j < weights_of_section(section); ++j) {
    add(sum, times(static_cast<std::int64_t>(j) + 1, weight(stage, section, j)));
  }
  for (std::size_t t = 0; t < model_.ties.size(); ++t) {
    const std::int64_t uses = shares(t, section);
    if (uses > 0) add(sum, times(uses, tied_weight(static_cast<int>(t), stage.setup.stage)));
  }
  return sum;
}

void RingWork::begin_step(std::int64_t step) {
  if (!is_empty()) throw std::logic_error("a micro-batch of the step before is still held");
  step_ = step;
  rate_ = 1;
  loss_ = 0;
  for (OfStage& stage : stages_) {
    for (Numbers& bucket : stage.gradients) std::fill(bucket.begin(), bucket.end(), 0);
  }
  tied_gradient_.clear();
  for (const auto& entry : tied_) tied_gradient_[entry.first] = 0;
}

void RingWork::compute(ActionKind kind, int stage, int micro_batch) {
  const Key key{stage, micro_batch};
  switch (kind) {
    case ActionKind::kForward:
      return forward(stage, micro_batch);
    case ActionKind::kRecompute:
      if (kept_inputs_.count(key) == 0) out_of_turn("R before F", stage, micro_batch);
      recomputed_.insert(key);
      return;
    case ActionKind::kInputGradient:
      return input_gradient(stage, micro_batch);
    case ActionKind::kWeightGradient:
      return weight_gradient(stage, micro_batch);
    default:
      input_gradient(stage, micro_batch);
      weight_gradient(stage, micro_batch);
  }
}

void RingWork::forward(int stage_number, int m) {
  OfStage& stage = of(stage_number);
  const MicroBatchSetup& micro_batch = setup_.micro_batches[static_cast<std::size_t>(m)];
  Numbers values;
  if (stage.setup.takes_input) {
    for (int i = 0; i < micro_batch.samples; ++i) {
      values.push_back(sample(step_, micro_batch.first_sample + i));
    }
  } else {
    values = taken(inputs_, "activation", stage_number, m);
  }
  kept_inputs_[{stage_number, m}] = values;
  for (int k = stage.setup.first_section; k < stage.setup.end_section; ++k) {
    for (std::int64_t& value : values) value = times(value, factor(stage, k));
  }
  if (stage.setup.ends_in_loss) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int index = micro_batch.first_sample + static_cast<int>(i);
      loss_ += small_part(times(index + 1, values[i]));
    }
  } else {
    outputs_[{stage_number, m}] = values;
  }
}

void RingWork::input_gradient(int stage_number, int m) {
  OfStage& stage = of(stage_number);
  if (kept_inputs_.count({stage_number, m}) == 0) out_of_turn("no F", stage_number, m);
  if (setup_.recompute && recomputed_.erase({stage_number, m}) == 0) {
    out_of_turn("no R", stage_number, m);
  }
  Numbers gradient;
  if (stage.setup.ends_in_loss) {
    const MicroBatchSetup& micro_batch = setup_.micro_batches[static_cast<std::size_t>(m)];
    for (int i = 0; i < micro_batch.samples; ++i) {
      gradient.push_back(micro_batch.first_sample + i + 1);
    }
  } else {
    gradient = taken(output_gradients_, "gradient", stage_number, m);
  }
  kept_gradients_[{stage_number, m}] = gradient;
  if (stage.setup.takes_input) return;
  for (int k = stage.setup.first_section; k < stage.setup.end_section; ++k) {
    for (std::int64_t& value : gradient) value = times(value, factor(stage, k));
  }
  input_gradients_[{stage_number, m}] = gradient;
}

void RingWork::weight_gradient(int stage_number, int m) {
  OfStage& stage = of(stage_number);
  const Numbers inputs = taken(kept_inputs_, "F", stage_number, m);
  const Numbers gradients = taken(kept_gradients_, "I", stage_number, m);
  for (int k = stage.setup.first_section; k < stage.setup.end_section; ++k) {
    std::int64_t slope = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::int64_t term = times(inputs[i], gradients[i]);
      for (int other = stage.setup.first_section; other < stage.setup.end_section; ++other) {
        if (other != k) term = times(term, factor(stage, other));
      }
      add(slope, term);
    }
    add_slope(stage, k, slope);
  }
}

// To the gradients of all weights that section k has or shares.
void RingWork::add_slope(OfStage& stage, int k, std::int64_t slope) {
  for (std::size_t place = 0; place < stage.places.size(); ++place) {
    const auto& [section, index] = stage.places[place];
    std::int64_t& gradient = at(stage.gradients, stage, place);
    if (section == k) add(gradient, times(static_cast<std::int64_t>(index) + 1, slope));
    if (section < 0) add(gradient, times(shares(static_cast<std::size_t>(-1 - section), k), slope));
  }
  for (auto& [key, gradient] : tied_gradient_) {
    if (key.second == stage.setup.stage)
      add(gradient, times(shares(of_model(key.first), k), slope));
  }
}

// How often section k uses a tie of the model.
std::int64_t RingWork::shares(std::size_t tie, int k) const {
  const std::vector<int>& sections = model_.ties[tie].sections;
  return std::count(sections.begin(), sections.end(), k);
}

Buffer RingWork::activation_to_receive(int stage, int m) {
  const auto samples =
      static_cast<std::size_t>(setup_.micro_batches[static_cast<std::size_t>(m)].samples);
  if (!inputs_.emplace(Key{stage, m}, Numbers(samples)).second) {
    out_of_turn("activation asked for twice", stage, m);
  }
  return buffer_of(inputs_.at({stage, m}));
}
Buffer RingWork::gradient_to_receive(int stage, int m) {
  const auto samples =
      static_cast<std::size_t>(setup_.micro_batches[static_cast<std::size_t>(m)].samples);
  if (!output_gradients_.emplace(Key{stage, m}, Numbers(samples)).second) {
    out_of_turn("gradient asked for twice", stage, m);
  }
  return buffer_of(output_gradients_.at({stage, m}));
}
Buffer RingWork::activation_to_send(int stage, int m) { return buffer_of(outputs_.at({stage, m})); }
Buffer RingWork::gradient_to_send(int stage, int m) {
  return buffer_of(input_gradients_.at({stage, m}));
}
void RingWork::sent_activation(int stage, int m) { taken(outputs_, "output", stage, m); }
void RingWork::sent_gradient(int stage, int m) {
  taken(input_gradients_, "input gradient", stage, m);
}
void RingWork::hand_on_activation(int stage, int m) {
  inputs_[{stage + 1, m}] = taken(outputs_, "output", stage, m);
}
void RingWork::hand_on_gradient(int stage, int m) {
  output_gradients_[{stage - 1, m}] = taken(input_gradients_, "input gradient", stage, m);
}

std::vector<Buffer> RingWork::gradients(int stage) {
  std::vector<Buffer> buffers;
  for (Numbers& bucket : of(stage).gradients) buffers.push_back(buffer_of(bucket));
  return buffers;
}
Buffer RingWork::tied_gradient(int tie, int stage) {
  return {reinterpret_cast<std::byte*>(&tied_gradient_.at({tie, stage})), 1, ElementType::kInt64};
}
void RingWork::add_tied_gradient(int tie, int from_stage, int to_stage) {
  add(tied_gradient_.at({tie, to_stage}), tied_gradient_.at({tie, from_stage}));
}
void RingWork::copy_tied_gradient(int tie, int from_stage, int to_stage) {
  tied_gradient_.at({tie, to_stage}) = tied_gradient_.at({tie, from_stage});
}

std::pair<std::size_t, std::size_t> RingWork::own_part(const OfStage& stage,
                                                       const Numbers& bucket) const {
  if (!setup_.zero1) return {0, bucket.size()};
  const std::size_t size = bucket.size() / static_cast<std::size_t>(stage.setup.holders);
  const std::size_t begin = size * static_cast<std::size_t>(stage.setup.holder);
  return {begin, begin + size};
}

NormShare RingWork::norm_share() {
  NormShare share;
  share.loss = loss_;
  for (const OfStage& stage : stages_) {
    if (!setup_.zero1 && stage.setup.holder != 0) continue;
    for (const Numbers& bucket : stage.gradients) {
      const auto part = own_part(stage, bucket);
      for (std::size_t i = part.first; i < part.second; ++i)
        share.squared_norm += squared(bucket[i]);
    }
  }
  for (std::size_t t = 0; t < setup_.ties.size(); ++t) {
    const int first = setup_.ties[t].stages.front();
    for (const OfStage& stage : stages_) {
      if (stage.setup.stage != first || setup_.replica != 0) continue;
      share.squared_norm += squared(tied_gradient_.at({static_cast<int>(t), first}));
    }
  }
  return share;
}

void RingWork::set_global_norm(const NormShare& all) { rate_ = rate_of(all); }

void RingWork::optimize(int stage_number) {
  OfStage& stage = of(stage_number);
  for (std::size_t b = 0; b < stage.weights.size(); ++b) {
    const auto part = own_part(stage, stage.weights[b]);
    for (std::size_t i = 0; i < stage.weights[b].size(); ++i) {
      if (i >= part.first && i < part.second) {
        update(stage.weights[b][i], stage.gradients[b][i], rate_);
      } else {
        stage.weights[b][i] = -999;  // another holder's
      }
    }
  }
  for (auto& entry : tied_) {
    if (entry.first.second == stage_number) {
      update(entry.second, tied_gradient_.at(entry.first), rate_);
    }
  }
}

std::vector<Buffer> RingWork::parameters_to_gather(int stage) {
  std::vector<Buffer> buffers;
  for (Numbers& bucket : of(stage).weights) buffers.push_back(buffer_of(bucket));
  return buffers;
}
void RingWork::gathered(int /*stage*/) {}

}  // namespace penstock::testing
