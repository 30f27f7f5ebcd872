#include "core/files/model_limits.h"

namespace penstock {
namespace {

constexpr double kMostOfModel = 1e15, kMostOfSection = 5e11;

}  // namespace

std::optional<std::string> beyond_any_model(const Architecture& model) {
  const auto real = [](int count) { return static_cast<double>(count); };
  const double h = real(model.hidden), n = real(model.heads);
  double width = 3.0 * real(model.feed_forward) + 4.0 * n * real(model.head_width);
  if (model.experts) {
    width += 3.0 * (real(model.experts->count) * real(model.experts->width) +
                    real(model.experts->shared_width) + real(model.experts->count));
  }
  double layer = h * width;
  if (const auto& latent = model.latent) {
    const double ranks = real(latent->query_rank) + real(latent->key_value_rank);
    layer += (ranks + h) * (h + 3.0 * n *
                                    (real(latent->content_width) + real(latent->value_width) +
                                     real(latent->rotary_width)));
  }
  const double tables =
      2.0 * real(model.vocabulary) + real(model.positions) + 2.0 + real(model.token_types);
  if (real(model.layers) * layer + tables * h > kMostOfModel) return "more than 10^15 parameters";
  if (layer > kMostOfSection) return "a layer of more than 5 x 10^11 parameters";
  if (tables * h > kMostOfSection) return "embeddings of more than 5 x 10^11 parameters";
  return std::nullopt;
}

}  // namespace penstock
