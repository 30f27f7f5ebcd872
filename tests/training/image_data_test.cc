#include "training/image_data.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"
#include "training/ordered_samples.h"

namespace penstock {
namespace {

using tests::message_of;

// Image k of the file is four bytes k, as 1 x 2 x 2.
ImageFile images(const std::string& name, const std::vector<std::uint8_t>& numbers) {
  auto kept = std::make_shared<std::vector<std::uint8_t>>();
  for (const std::uint8_t number : numbers) kept->insert(kept->end(), 4, number);
  return {name, PixelType::kUint8, std::as_bytes(std::span(*kept)), {1, 2, 2}, kept};
}

TokenFile labels(const std::string& name, const std::vector<std::int32_t>& values) {
  auto kept = std::make_shared<std::vector<std::int32_t>>(values);
  TokenFile file;
  file.name = name;
  file.type = TokenType::kInt32;
  file.bytes = std::as_bytes(std::span(*kept));
  file.owner = kept;
  return file;
}

ModelDescription model() {
  ModelDescription model;
  model.family = ModelFamily::kTorchScript;
  model.image = {1, 2, 2};
  return model;
}

TEST_CASE("samples are numbered through all files, each image with its own label") {
  const ImageData data({images("a", {10, 11, 12}), images("b", {20, 21})},
                       {labels("la", {0, 1, 2}), labels("lb", {3, 4})}, {1, 2, 2});
  CHECK(data.samples() == 5);
  const int pixels[] = {10, 11, 12, 20, 21};
  for (int k = 0; k < 5; ++k) {
    const TokenSample sample = data.sample(model(), {}, k);
    CHECK(sample.targets == std::vector<std::int64_t>{k});
    CHECK(sample.inputs.empty());
    REQUIRE(sample.image.bytes.size() == 4);
    CHECK(static_cast<int>(sample.image.bytes[3]) == pixels[k]);
  }
  data.check(100);
}

TEST_CASE("an epoch takes every image once") {
  const auto data = std::make_shared<const ImageData>(
      std::vector{images("a", {0, 1, 2, 3, 4, 5, 6})},
      std::vector{labels("l", {0, 1, 2, 3, 4, 5, 6})}, std::vector<std::int64_t>{1, 2, 2});
  // Steps of two from sample 7 on: the second epoch.
  const EpochData epoch(data, 0, 7, {0, 7, 1});
  std::vector<int> times(7);
  for (int step = 0; step < 7; ++step) {
    const TokenSample sample = epoch.sample(model(), {1, step, 0});
    CHECK(static_cast<std::int64_t>(sample.image.bytes[0]) == sample.targets[0]);
    ++times[static_cast<std::size_t>(sample.targets[0])];
  }
  CHECK(times == std::vector<int>(7, 1));
}

TEST_CASE("what is no pair of images and labels is refused") {
  const auto said = [](std::vector<ImageFile> of_images, std::vector<TokenFile> of_labels,
                       const std::vector<std::int64_t>& shape) {
    return message_of([&] {
      const ImageData data(std::move(of_images), std::move(of_labels), shape);
      data.check(100);
    });
  };
  CHECK(said({images("a", {1, 2})}, {labels("l", {0, 1, 2})}, {1, 2, 2}) ==
        "l: holds 3 labels, and a holds 2 images\nhelp: one label for each image, in the same "
        "order");
  CHECK(said({images("a", {1})}, {labels("l", {0})}, {3, 2, 2}) ==
        "a: its images are 1x2x2 (channels, height, width), and the model was profiled with 3x2x2"
        "\nhelp: profile it with --image 1x2x2");
  CHECK(said({images("a", {1, 2})}, {labels("l", {0, -1})}, {1, 2, 2}) ==
        "l: label 1 is -1; classes are numbered from 0\nhelp: leave out images that have no class");
  ImageFile other = images("b", {1});
  other.type = PixelType::kFloat16;
  CHECK(said({images("a", {1}), other}, {labels("l", {0}), labels("m", {0})}, {1, 2, 2}) ==
        "b: holds float16, and a holds uint8\nhelp: write all images in one type");
  CHECK(
      said({images("a", {})}, {labels("l", {})}, {1, 2, 2}).starts_with("--data: holds no image"));
}

}  // namespace
}  // namespace penstock
