#include "studies/not_modelled.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

using Texts = std::vector<std::string>;

Question estimated_of(const Architecture& model) {
  Question question;
  question.estimated.emplace();
  question.estimated->model = model;
  return question;
}

TEST_CASE("of a plain model nothing is left out; of a measured one that long sequences are whole") {
  CHECK(not_modelled_here(estimated_of({})).empty());
  Question measured;
  SectionType layer;
  layer.measurements.resize(2);
  layer.measurements[1].sequence_length = 8191;
  measured.profile.value.section_types = {layer};
  CHECK(not_modelled_here(measured).empty());
  measured.profile.value.section_types[0].measurements[0].sequence_length = 8192;
  CHECK(not_modelled_here(measured) == Texts{"context parallelism"});
  measured.request.sequence_length = 2048;  // what is asked for
  CHECK(not_modelled_here(measured).empty());
  measured.request.sequence_length = 16384;
  CHECK(not_modelled_here(measured) == Texts{"context parallelism"});
}

// As DeepSeek-V3's config.json has them: a layer that predicts a second token, and 256 experts.
TEST_CASE("what a config.json has beyond the estimate is said, fields that nobody knows are not") {
  Architecture model;
  model.not_read = {
      "1 extra prediction layer (num_nextn_predict_layers): not part of this estimate",
      "unheard_of"};
  model.experts = Experts{};
  Question question = estimated_of(model);
  CHECK(not_modelled_here(question) ==
        Texts{"1 extra prediction layer (num_nextn_predict_layers)",
              "experts that get more tokens than others (--expert-imbalance)"});
  question.estimated->request.expert_imbalance = 1.2;
  CHECK(not_modelled_here(question) ==
        Texts{"1 extra prediction layer (num_nextn_predict_layers)"});
}

TEST_CASE("layers that differ in their window are alike in an estimate") {
  Architecture model;
  model.window = 128;
  model.layers = 36;
  CHECK(not_modelled_here(estimated_of(model)).empty());  // all have it
  model.windowed_layers = 18;
  const Texts texts = not_modelled_here(estimated_of(model));
  REQUIRE(texts.size() == 1);
  CHECK(texts.front().starts_with("which layers have the attention window"));
}

}  // namespace
}  // namespace penstock
