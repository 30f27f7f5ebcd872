#include "tests/runtime_bridge/ring_work.h"

#include <algorithm>
#include <stdexcept>

namespace penstock::testing {
namespace {

// Signed numbers that wrap around, without undefined behaviour.
std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
void add(std::int64_t& sum, std::int64_t term) {
  sum =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(term));
}

std::int64_t sample(std::int64_t step, int i) { return 3 + 17 * step + i; }
double small_part(std::int64_t value) { return static_cast<double>(value & 0xFFFF); }
double squared(std::int64_t gradient) {
  const double part = static_cast<double>(gradient & 0x3FF);
  return part * part;
}
std::int64_t rate_of(const NormShare& all) {
  return 1 + static_cast<std::int64_t>(all.squared_norm) % 5;
}
void update(std::int64_t& weight, std::int64_t gradient, std::int64_t rate) {
  add(weight, times(-rate, gradient));
}

std::size_t weights_of_section(int section) { return 1 + static_cast<std::size_t>(section) % 3; }

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

RingWeights first_weights(const RingModel& model) {
  RingWeights weights;
  weights.sections.resize(static_cast<std::size_t>(model.sections));
  for (int k = 0; k < model.sections; ++k) {
    Numbers& own = weights.sections[static_cast<std::size_t>(k)];
    for (std::size_t j = 0; j < weights_of_section(k); ++j) {
      own.push_back(3 + 7 * k + static_cast<int>(j));
    }
  }
  for (std::size_t t = 0; t < model.ties.size(); ++t) {
    weights.ties.push_back(5 + static_cast<int>(t));
  }
  return weights;
}

RingStep plain_step(const RingModel& model, const RingWeights& weights, std::int64_t step,
                    int samples, bool normed) {
  const auto sections = static_cast<std::size_t>(model.sections);
  Numbers factors(sections);
  for (std::size_t k = 0; k < sections; ++k) {
    for (std::size_t j = 0; j < weights.sections[k].size(); ++j) {
      add(factors[k], times(static_cast<std::int64_t>(j) + 1, weights.sections[k][j]));
    }
    for (std::size_t t = 0; t < model.ties.size(); ++t) {
      for (const int tied : model.ties[t].sections) {
        if (static_cast<std::size_t>(tied) == k) add(factors[k], weights.ties[t]);
      }
    }
  }
  RingStep result;
  Numbers slopes(sections);  // of the whole loss by each factor
  for (int i = 0; i < samples; ++i) {
    std::int64_t y = times(i + 1, sample(step, i));
    for (const std::int64_t factor : factors) y = times(y, factor);
    result.all.loss += small_part(y);
    for (std::size_t k = 0; k < sections; ++k) {
      std::int64_t slope = times(i + 1, sample(step, i));
      for (std::size_t other = 0; other < sections; ++other) {
        if (other != k) slope = times(slope, factors[other]);
      }
      add(slopes[k], slope);
    }
  }
  const auto gradient = [&](std::size_t k, std::size_t j) {
    return times(static_cast<std::int64_t>(j) + 1, slopes[k]);
  };
  Numbers tied(model.ties.size());
  for (std::size_t t = 0; t < tied.size(); ++t) {
    for (const int k : model.ties[t].sections) add(tied[t], slopes[static_cast<std::size_t>(k)]);
  }
  if (normed) {
    for (std::size_t k = 0; k < sections; ++k) {
      for (std::size_t j = 0; j < weights.sections[k].size(); ++j) {
        result.all.squared_norm += squared(gradient(k, j));
      }
    }
    for (const std::int64_t slope : tied) result.all.squared_norm += squared(slope);
  }
  const std::int64_t rate = normed ? rate_of(result.all) : 1;
  result.weights = weights;
  for (std::size_t k = 0; k < sections; ++k) {
    for (std::size_t j = 0; j < weights.sections[k].size(); ++j) {
      update(result.weights.sections[k][j], gradient(k, j), rate);
    }
  }
  for (std::size_t t = 0; t < tied.size(); ++t) update(result.weights.ties[t], tied[t], rate);
  return result;
}

RingWork::RingWork(const RingModel& model, const RankSetup& setup) : model_(model), setup_(setup) {
  const RingWeights weights = first_weights(model);
  for (const StageSetup& stage_setup : setup.stages) {
    OfStage stage;
    stage.setup = stage_setup;
    Numbers flat;
    for (int k = stage_setup.first_section; k < stage_setup.end_section; ++k) {
      const Numbers& own = weights.sections[static_cast<std::size_t>(k)];
      for (std::size_t j = 0; j < own.size(); ++j) {
        stage.places.emplace_back(k, j);
        flat.push_back(own[j]);
      }
    }
    // Ties within one stage are weights like others.
    for (int t = 0; t < static_cast<int>(model.ties.size()); ++t) {
      const int first = model.ties[static_cast<std::size_t>(t)].sections.front();
      const bool here = first >= stage_setup.first_section && first < stage_setup.end_section;
      if (is_shared(t) || !here) continue;
      stage.places.emplace_back(-1 - t, 0);
      flat.push_back(weights.ties[static_cast<std::size_t>(t)]);
    }
    const auto holders = static_cast<std::size_t>(stage_setup.holders);
    const std::size_t half = flat.size() / 2;
    for (const auto& [begin, end] :
         {std::pair(std::size_t{0}, half), std::pair(half, flat.size())}) {
      Numbers bucket(flat.begin() + static_cast<std::ptrdiff_t>(begin),
                     flat.begin() + static_cast<std::ptrdiff_t>(end));
      bucket.resize((bucket.size() + holders - 1) / holders * holders);
      stage.weights.push_back(bucket);
      stage.gradients.emplace_back(bucket.size());
    }
    stages_.push_back(std::move(stage));
  }
  for (std::size_t t = 0; t < setup.ties.size(); ++t) {
    for (std::size_t of_model = 0; of_model < model.ties.size(); ++of_model) {
      if (model.ties[of_model].name != setup.ties[t].name) continue;
      for (const StageSetup& stage : setup.stages) {
        const auto& tied = setup.ties[t].stages;
        if (std::find(tied.begin(), tied.end(), stage.stage) == tied.end()) continue;
        tied_[{static_cast<int>(t), stage.stage}] = weights.ties[of_model];
      }
    }
  }
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
  for (int t = 0; t < static_cast<int>(model_.ties.size()); ++t) {
    for (const int tied : model_.ties[static_cast<std::size_t>(t)].sections) {
      if (tied == section) add(sum, tied_weight(t, stage.setup.stage));
    }
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
    for (std::size_t place = 0; place < stage.places.size(); ++place) {
      const auto& [section, index] = stage.places[place];
      if (section == k) {
        add(at(stage.gradients, stage, place), times(static_cast<std::int64_t>(index) + 1, slope));
      } else if (section < 0) {
        for (const int tied : model_.ties[static_cast<std::size_t>(-1 - section)].sections) {
          if (tied == k) add(at(stage.gradients, stage, place), slope);
        }
      }
    }
    for (std::size_t t = 0; t < setup_.ties.size(); ++t) {
      const auto found = tied_gradient_.find({static_cast<int>(t), stage_number});
      if (found == tied_gradient_.end()) continue;
      for (const RingModel::Tie& tie : model_.ties) {
        if (tie.name != setup_.ties[t].name) continue;
        for (const int tied : tie.sections) {
          if (tied == k) add(found->second, slope);
        }
      }
    }
  }
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
