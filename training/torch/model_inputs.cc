// Gives the forward of a model its arguments by their names, from one table.
//
// An argument that the table does not name takes the token ids or the pixels, and only one may, so
// what a name means never depends on its position. Of images the table's first two rows count. The
// meanings are those of Hugging Face's models (T5ForConditionalGeneration shifts labels to the
// right behind a 0, the id of its padding).
#include "training/torch/model_inputs.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <ATen/ATen.h>

#include "core/values/error.h"

namespace penstock {
namespace {

using Make = at::Tensor (*)(const at::Tensor& tokens, const at::Tensor& targets);
struct KnownInput {
  std::string_view name;
  Make make;
};

at::Tensor the_targets(const at::Tensor& /*tokens*/, const at::Tensor& targets) { return targets; }
at::Tensor ones(const at::Tensor& tokens, const at::Tensor& /*targets*/) {
  return at::ones_like(tokens);
}
at::Tensor zeros(const at::Tensor& tokens, const at::Tensor& /*targets*/) {
  return at::zeros_like(tokens);
}
at::Tensor places(const at::Tensor& tokens, const at::Tensor& /*targets*/) {
  return at::arange(tokens.size(1), tokens.options()).expand_as(tokens).contiguous();
}
// What the decoder of T5 predicts the targets from: they themselves one later, behind a 0.
at::Tensor one_later(const at::Tensor& /*tokens*/, const at::Tensor& targets) {
  at::Tensor ids = at::zeros_like(targets);
  const std::int64_t length = targets.size(1);
  ids.narrow(1, 1, length - 1).copy_(targets.narrow(1, 0, length - 1).clamp_min(0));
  return ids;
}

constexpr std::array kKnown{
    KnownInput{"targets", the_targets},         KnownInput{"labels", the_targets},
    KnownInput{"decoder_input_ids", one_later}, KnownInput{"attention_mask", ones},
    KnownInput{"decoder_attention_mask", ones}, KnownInput{"position_ids", places},
    KnownInput{"token_type_ids", zeros},
};

const KnownInput* known(const std::string& name) {
  const auto* const found = std::ranges::find(kKnown, name, &KnownInput::name);
  return found == kKnown.end() ? nullptr : found;
}

}  // namespace

void check_inputs(const std::vector<std::string>& names, const ModelDescription& model,
                  const std::string& where) {
  const bool takes_images = !model.image.empty();
  const auto means_something = [&](const KnownInput& input) {
    return !takes_images || input.make == the_targets;
  };
  std::string first;
  for (const std::string& name : names) {
    const KnownInput* const input = known(name);
    if (input != nullptr && means_something(*input)) continue;
    if (first.empty() && input == nullptr) {
      first = name;
      continue;
    }
    std::string words;
    for (const KnownInput& each : kKnown) {
      if (!means_something(each)) continue;
      words += std::string(words.empty() ? "" : ", ") + std::string(each.name);
    }
    throw_bad_input(
        where + ": forward takes " + (first.empty() ? "" : first + " and ") + name + "; of " +
        (takes_images ? "images Penstock gives pixels" : "text Penstock gives token ids") +
        " to one argument, and to others by the names " + words +
        "; rename it, or give it a default");
  }
}

Tensors model_inputs(const std::vector<std::string>& names, const at::Tensor& tokens,
                     const at::Tensor& targets) {
  Tensors inputs;
  inputs.reserve(names.size());
  for (const std::string& name : names) {
    const KnownInput* const input = known(name);
    inputs.push_back(input == nullptr ? tokens : input->make(tokens, targets));
  }
  return inputs;
}

Tensors trial_inputs(const std::vector<std::string>& names, const ModelDescription& model,
                     std::int64_t samples, std::int64_t tokens, at::ScalarType type) {
  if (model.image.empty()) {
    const auto ids = [&](std::int64_t length) {
      return at::arange(samples * length, at::kLong).remainder(97).view({samples, length});
    };
    return model_inputs(names, ids(tokens), ids(tokens + 1).narrow(1, 1, tokens).contiguous());
  }
  std::vector<std::int64_t> sizes{samples};
  sizes.insert(sizes.end(), model.image.begin(), model.image.end());
  const at::Tensor pixels =
      at::arange(c10::multiply_integers(sizes), at::kDouble).remainder(97).div_(97).view(sizes);
  return model_inputs(names, pixels.to(type), at::zeros({samples}, at::kLong));
}

}  // namespace penstock
