// Sections of one type cost the same, so a chain with the first few of every type is measured, or
// as many as no cache holds, unless what they are handed differs in size, which makes them types of
// their own. Times are
// measured without a tracer first; memory and the traced round follow. The budget is divided over
// the sizes that are left.
#include "profiler/torch/measure_model.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "profiler/build_profile.h"
#include "profiler/trace_chain.h"
#include "training/byte_data.h"
#include "training/steady_time.h"
#include "training/torch/element_types.h"
#include "training/torch/model.h"
#include "training/torch/torch_work.h"

namespace penstock {
namespace {

constexpr int kSectionsOfAType = 4;
// Samples are drawn from this many bytes.
constexpr std::size_t kTextBytes = std::size_t{1} << 20;

// Bytes without a pattern; times do not depend on them, but an embedding's backward adds to as many
// rows as there are different tokens.
std::string text_to_train_on(int sequence_length) {
  std::string text(std::max(kTextBytes, static_cast<std::size_t>(sequence_length) * 4), '\0');
  std::uint32_t state = 1;
  for (char& c : text) {
    state = state * 1664525U + 1013904223U;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

// The same image again and again, of class 0, which every classifier has.
class OneImage : public TokenSource {
 public:
  explicit OneImage(const std::vector<std::int64_t>& shape)
      : pixels_(static_cast<std::size_t>(
            std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()))) {
    for (std::size_t i = 0; i < pixels_.size(); ++i) {
      pixels_[i] = static_cast<float>(i % 97) / 97.0F;
    }
  }
  [[nodiscard]] TokenSample sample(const ModelDescription& /*model*/,
                                   const SampleId& /*id*/) const override {
    TokenSample sample;
    sample.targets = {0};
    sample.image = {PixelType::kFloat32, std::as_bytes(std::span(pixels_))};
    return sample;
  }

 private:
  std::vector<float> pixels_;
};

// The same ids again and again, as long as they are asked for.
class OnePair : public TokenSource {
 public:
  OnePair(int tokens, int decoder_tokens) {
    sample_.inputs = ids(tokens);
    sample_.targets = ids(decoder_tokens);
  }
  [[nodiscard]] TokenSample sample(const ModelDescription& /*model*/,
                                   const SampleId& /*id*/) const override {
    return sample_;
  }

 private:
  static std::vector<std::int64_t> ids(int count) {
    std::vector<std::int64_t> ids;
    for (int i = 0; i < count; ++i) ids.push_back(i * 97 % 251);
    return ids;
  }
  TokenSample sample_;
};

std::unique_ptr<const TokenSource> data_of(const ModelToMeasure& question, int sequence_length,
                                           int decoder_length) {
  if (decoder_length > 0) return std::make_unique<OnePair>(sequence_length, decoder_length);
  if (!question.model.image.empty()) return std::make_unique<OneImage>(question.model.image);
  return std::make_unique<ByteData>(text_to_train_on(sequence_length), sequence_length,
                                    "the profiler's text");
}

// The caller's progress, until a moment.
class Until : public ProfilingProgress {
 public:
  Until(ProfilingProgress& outer, SteadyTime deadline) : outer_(outer), deadline_(deadline) {}
  bool stop() override { return outer_.stop() || steady_now() >= deadline_; }

 private:
  ProfilingProgress& outer_;
  SteadyTime deadline_;
};

struct Size {
  int micro_batch_size = 1;
  bool recompute = false;
  int sequence_length = 1;
  int decoder_length = 0;
  bool says_length = false;  // it is one of several
  [[nodiscard]] std::string text() const {
    return "b = " + std::to_string(micro_batch_size) + ", recompute " +
           (recompute ? "full" : "none") +
           (says_length ? ", " + std::to_string(sequence_length) + " tokens" : "") +
           (decoder_length > 0 ? " and " + std::to_string(decoder_length) : "");
  }
};

std::vector<Size> sizes_of(const ModelToMeasure& question) {
  std::vector<int> lengths = question.sequence_lengths;
  if (lengths.empty()) lengths = {question.sequence_length};
  std::vector<int> decoder_lengths = question.decoder_lengths;
  if (decoder_lengths.empty()) decoder_lengths = {0};
  std::vector<Size> sizes;
  for (const int length : lengths) {
    for (const int decoder_length : decoder_lengths) {
      for (const bool recompute : question.recompute) {
        for (const int b : question.micro_batch_sizes) {
          sizes.push_back(
              {b, recompute, length, decoder_length, lengths.size() > 1 || decoder_length > 0});
        }
      }
    }
  }
  return sizes;
}

BoundaryShape shape_of(const ModelDescription& model, std::int64_t tokens) {
  return {.samples = 2, .tokens = tokens, .type = compute_type(model.precision)};
}

// What a section is handed and hands on, as text.
std::string sizes_of(const Model& model, int section, const BoundaryShape& shape) {
  std::string text;
  if (section < 0) return text;
  for (const BoundaryTensor& tensor : model.boundary(section, shape)) {
    for (const std::int64_t size : tensor.shape) text += std::to_string(size) + ' ';
    text += tensor.has_gradient ? ";" : "/";
  }
  return text;
}

// Sections of one type in another place may be handed tensors of another size: a convolution behind
// another one. Then they are of several types.
void tell_sizes_apart(const Model& model, const ModelToMeasure& question, ModelOutline& outline) {
  const BoundaryShape shape = shape_of(question.model, question.sequence_length);
  std::map<std::string, std::vector<std::string>> known;  // sizes by type
  const int sections = static_cast<int>(outline.sections.size());
  for (int s = 0; s < sections; ++s) {
    std::string& type = outline.sections[static_cast<std::size_t>(s)].type;
    std::string sizes = sizes_of(model, s - 1, shape) + "|";
    if (s + 1 < sections) sizes += sizes_of(model, s, shape);
    std::vector<std::string>& of_type = known[type];
    const auto found = std::find(of_type.begin(), of_type.end(), sizes);
    const auto number = found - of_type.begin() + 1;
    if (found == of_type.end()) of_type.push_back(std::move(sizes));
    if (number > 1) type += "@" + std::to_string(number);
  }
}

// Whether every section of the chain is handed what the one before it in the chain hands on.
bool fits_together(const Model& model, const ChainToMeasure& chain) {
  const BoundaryShape shape = shape_of(chain.model, chain.sequence_length);
  for (std::size_t i = 1; i < chain.sections.size(); ++i) {
    if (sizes_of(model, chain.sections[i - 1], shape) !=
        sizes_of(model, chain.sections[i] - 1, shape)) {
      return false;
    }
  }
  return true;
}

std::int64_t fixed_bytes(const ModelOutline& outline, const ChainToMeasure& chain) {
  const std::int64_t bytes =
      training_state_of(chain.model.precision, chain.model.optimizer).bytes_per_parameter.count;
  std::int64_t sum = 0;
  for (const int section : chain.sections) {
    const SectionOutline& one = outline.sections[static_cast<std::size_t>(section)];
    sum += one.frozen_count() * bytes + one.buffer_bytes();
  }
  return sum;
}

class ModelMeasuring {
 public:
  ModelMeasuring(const ModelToMeasure& question, Device& device, ProfilingProgress& progress,
                 const RanksBeside& beside, ActivityTracer* tracer)
      : question_(question),
        device_(device),
        progress_(progress),
        beside_(beside),
        tracer_(tracer) {
    const auto model = make_model(question.model);
    samples_.outline = model->outline();
    if (question.model.family == ModelFamily::kTorchScript) see_archive(*model);
    chain_ = chain_of(question, samples_.outline);
    if (!fits_together(*model, chain_)) {
      ModelToMeasure all = question;
      all.every_section = true;
      chain_ = chain_of(all, samples_.outline);
    }
    chain_.model.division = samples_.division;
    samples_.chain_parameters = chain_.parameters;
  }

  ModelSamples measure() {
    const std::vector<Size> sizes = sizes_of(question_);
    const SteadyTime end = steady_now() + question_.budget;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      progress_.update(sizes[i].text(), static_cast<int>(i), static_cast<int>(sizes.size()));
      if (same_answer(progress_.stop(), beside_)) {
        samples_.not_measured.push_back(sizes[i].text());
        continue;
      }
      // What earlier sizes did not need of their parts is there for the later ones.
      const SteadyTime now = steady_now();
      measure(sizes[i], now + (end - now) / static_cast<std::int64_t>(sizes.size() - i));
    }
    return std::move(samples_);
  }

 private:
  // The ranks beside take rank 0's word for it.
  void see_archive(const Model& model) {
    if (beside_.rank() == 0) {
      model.check_division(question_.sequence_length);
      samples_.remarks = model.remarks(question_.sequence_length);
    }
    samples_.division = model.division(question_.sequence_length);
    tell_sizes_apart(model, question_, samples_.outline);
  }

  void measure(const Size& size, SteadyTime deadline) {
    chain_.micro_batch_size = size.micro_batch_size;
    chain_.recompute = size.recompute;
    use_length(size.sequence_length, size.decoder_length);
    const Bytes before = device_.held_memory();
    TorchWork work(setup_of(chain_), device_, *data_);
    samples_.state_bytes_per_parameter =
        static_cast<double>((device_.held_memory() - before).count -
                            fixed_bytes(samples_.outline, chain_)) /
        static_cast<double>(std::max<std::int64_t>(chain_.parameters, 1));
    Until until(progress_, deadline);
    ChainSamples chain = measure_beside(chain_, work, device_, question_.rule, until, beside_);
    samples_.not_split = work.not_split();
    if (chain.sections.empty() || !all_is_attributed(size, work)) return;
    samples_.chains.push_back(std::move(chain));
  }

  void use_length(int sequence_length, int decoder_length) {
    if (data_ && chain_.sequence_length == sequence_length &&
        chain_.decoder_length == decoder_length) {
      return;
    }
    chain_.sequence_length = sequence_length;
    chain_.decoder_length = decoder_length;
    data_ = data_of(question_, sequence_length, decoder_length);
  }

  // Whoever asks to stop gets what was measured, untraced.
  bool all_is_attributed(const Size& size, TorchWork& work) {
    if (tracer_ == nullptr) return true;
    if (progress_.stop()) {
      samples_.not_traced.push_back(size.text());
      return true;
    }
    ChainTrace trace = trace_chain(chain_, work, device_, *tracer_);
    samples_.traces.push_back(std::move(trace.samples));
    if (question_.keeps_recordings) samples_.recordings.push_back(std::move(trace.recording));
    return samples_.traces.back().why_void.empty();
  }

  const ModelToMeasure& question_;
  Device& device_;
  ProfilingProgress& progress_;
  const RanksBeside& beside_;
  ActivityTracer* tracer_;                   // may be absent
  std::unique_ptr<const TokenSource> data_;  // of the chain's length
  ChainToMeasure chain_;
  ModelSamples samples_;
};

}  // namespace

ModelSamples measure_model(const ModelToMeasure& question, Device& device,
                           ProfilingProgress& progress, const RanksBeside& beside,
                           ActivityTracer* tracer) {
  return ModelMeasuring(question, device, progress, beside, tracer).measure();
}

ChainToMeasure chain_of(const ModelToMeasure& question, const ModelOutline& outline) {
  ChainToMeasure chain = choose_beyond(
      kBeyondCaches, question.model, outline,
      question.every_section ? static_cast<int>(outline.sections.size()) : kSectionsOfAType);
  chain.sequence_length = question.sequence_length;
  chain.splits = question.splits;
  return chain;
}

}  // namespace penstock
