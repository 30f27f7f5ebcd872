#include "runtime_bridge/image_files.h"

#include <array>
#include <cstdint>

#include <doctest/doctest.h>

#include "runtime_bridge/training_data.h"
#include "tests/core/messages.h"
#include "tests/runtime_bridge/data_files.h"

namespace penstock {
namespace {

using tests::message_of;

constexpr const char* kFolder = "penstock_image_files_test";

ModelDescription classifier() {
  ModelDescription model;
  model.family = ModelFamily::kTorchScript;
  model.image = {1, 2, 3};
  return model;
}

// n images of six numbers: 0, 1, 2, ...
std::string floats(int n) {
  std::vector<float> values;
  for (int i = 0; i < 6 * n; ++i) values.push_back(static_cast<float>(i));
  return bytes_of(values);
}

DataOptions pair_of(const std::string& images, const std::string& labels) {
  DataOptions options;
  options.files = {images};
  options.labels = {labels};
  return options;
}

std::string refusal(const DataOptions& options) {
  return message_of([&] { (void)read_training_data(options, classifier(), 1); });
}

// A zip as numpy.savez writes it: stored records, the directory behind them. CRCs are not looked
// at.
std::string zip(const std::vector<std::pair<std::string, std::string>>& files, int method = 0) {
  const auto number = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
    return text;
  };
  std::string all, directory;
  for (const auto& [name, content] : files) {
    const std::string sizes = number(content.size(), 4) + number(content.size(), 4);
    const std::string both = number(0, 2) + number(static_cast<std::uint64_t>(method), 2) +
                             number(0, 8) + sizes + number(name.size(), 2) + number(0, 2);
    directory += "PK\x01\x02" + number(20, 2) + number(20, 2) + both + number(0, 2 + 2 + 2 + 4) +
                 number(all.size(), 4) + name;
    all += "PK\x03\x04" + number(20, 2) + both + name + content;
  }
  return all + directory + "PK\x05\x06" + number(0, 4) + number(files.size(), 2) +
         number(files.size(), 2) + number(directory.size(), 4) + number(all.size(), 4) +
         number(0, 2);
}

TEST_CASE("a pair of .npy files is images with labels, from their second epoch on, too") {
  const Folder folder(kFolder);
  DataOptions options =
      pair_of(folder.write("x.npy", npy("<f4", "(4, 1, 2, 3)", floats(4))),
              folder.write("y.npy", npy("<i8", "(4,)", bytes_of<std::int64_t>({7, 6, 5, 4}))));
  TrainingData data = read_training_data(options, classifier(), 1);
  CHECK(data.samples == 4);
  CHECK(data.file.bytes == 4 * 6 * 4 + 4 * 8);
  data.begin({0, 0, 2});
  std::vector<int> seen(4);
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < 2; ++i) {
      const TokenSample sample = data.tokens->sample(classifier(), {1, step, i});
      float first = 0;
      std::memcpy(&first, sample.image.bytes.data(), sizeof first);
      // Image k begins with 6 k and has the label 7 - k.
      CHECK(sample.targets == std::vector<std::int64_t>{7 - static_cast<std::int64_t>(first) / 6});
      ++seen[static_cast<std::size_t>(first) / 6];
    }
  }
  CHECK(seen == std::vector<int>(4, 2));
  options.validation_fraction = 0.25;
  data = read_training_data(options, classifier(), 1);
  CHECK(data.samples == 3);
  CHECK(data.validation_first == 3);
}

TEST_CASE("a .npz file holds both where they lie") {
  const Folder folder(kFolder);
  const std::string images = npy("<f4", "(2, 1, 2, 3)", floats(2));
  const std::string labels = npy("|u1", "(2,)", bytes_of<std::uint8_t>({3, 9}));
  DataOptions options;
  options.files = {folder.write("d.npz", zip({{"labels.npy", labels}, {"images.npy", images}}))};
  const TrainingData data = read_training_data(options, classifier(), 1);
  const TokenSample sample = data.files->sample(classifier(), {}, 1);
  CHECK(sample.targets == std::vector<std::int64_t>{9});
  float last = 0;
  std::memcpy(&last, sample.image.bytes.data() + 5 * sizeof last, sizeof last);
  CHECK(last == 11.0F);
  options.files = {folder.write("p.npz", zip({{"labels.npy", labels}, {"images.npy", images}}, 8))};
  CHECK(refusal(options).find("p.npz: images: is compressed, and images are read where they lie"
                              "\nhelp: write it with numpy.savez instead") != std::string::npos);
  options.files = {folder.write("n.npz", zip({{"x.npy", images}, {"labels.npy", labels}}))};
  CHECK(refusal(options).find("holds no array \"images\", but x.npy, labels.npy\nhelp: ") !=
        std::string::npos);
}

TEST_CASE("what holds no images, or no labels of them, is refused with the remedy") {
  const Folder folder(kFolder);
  const std::string images = folder.write("x.npy", npy("<f4", "(2, 1, 2, 3)", floats(2)));
  const std::string labels =
      folder.write("y.npy", npy("<i8", "(2,)", bytes_of<std::int64_t>({0, 1})));
  CHECK(refusal(pair_of(images, labels)).empty());
  const auto as_images = [&](const std::string& bytes) {
    return refusal(pair_of(folder.write("i.npy", bytes), labels));
  };
  CHECK(as_images(npy("<f4", "(2, 6)", floats(2))).find("is not a list of images [samples, ") !=
        std::string::npos);
  CHECK(
      as_images(npy("<i8", "(2, 1, 2, 3)", floats(4))).find("its elements are '<i8'; images are") !=
      std::string::npos);
  CHECK(as_images(npy("<f4", "(2, 1, 2, 3)", floats(1))).find("should hold 12 numbers by its") !=
        std::string::npos);
  CHECK(as_images(npy("<f4", "(2, 1, 2, 3)", floats(2), "True")).find("is in Fortran order") !=
        std::string::npos);
  const std::string shares =
      folder.write("f.npy", npy("<f4", "(2,)", bytes_of<float>({0.5F, 0.5F})));
  CHECK(refusal(pair_of(images, shares)).find("labels are integers, one for each image") !=
        std::string::npos);
  DataOptions alone = pair_of(images, labels);
  alone.labels.clear();
  CHECK(refusal(alone).find("there are no labels\nhelp: add --labels labels.npy") !=
        std::string::npos);
  DataOptions more = pair_of(images, labels);
  more.labels.push_back(labels);
  CHECK(refusal(more).starts_with("--labels: 2 files of labels for 1 of images"));
  DataOptions typed = pair_of(images, labels);
  typed.type = TokenType::kUint8;
  CHECK(refusal(typed).starts_with("--dtype: the model takes images"));
  ModelDescription text;
  text.vocabulary = 256;
  CHECK(message_of([&] {
          (void)read_training_data(pair_of(images, labels), text, 1);
        }).starts_with("--labels: the model was profiled with token ids"));
}

}  // namespace
}  // namespace penstock
