// Images with a label each, read where they lie in memory (mapped, as a rule).
//
// Image k of a file of images and number k of the file of labels that was given with it are a
// sample; samples are numbered through all files in the order in which they were given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "training/sample_set.h"
#include "training/token_data.h"

namespace penstock {

std::string_view name_of(PixelType type);  // "float32"
std::size_t size_of(PixelType type);

// One file, or a part of one.
struct ImageFile {
  std::string name;  // for messages
  PixelType type = PixelType::kFloat32;
  std::span<const std::byte> bytes;   // of whole images
  std::vector<std::int64_t> shape;    // of one: channels, height, width
  std::shared_ptr<const void> owner;  // keeps the bytes
};

class ImageData : public SampleSet {
 public:
  // As many files of labels as of images. Error{kBadInput} for images of another shape than
  // `shape`, for two types of them, for another number of labels, and when there is no image.
  ImageData(std::vector<ImageFile> images, std::vector<TokenFile> labels,
            const std::vector<std::int64_t>& shape);

  [[nodiscard]] std::int64_t samples() const override { return first_.back(); }
  [[nodiscard]] TokenSample sample(const ModelDescription& model, const SampleId& id,
                                   std::int64_t number) const override;
  // Of labels only; any number is a pixel.
  void check(std::size_t most_bytes) const override;

 private:
  std::int64_t label(std::size_t file, std::int64_t row) const;

  std::vector<ImageFile> images_;
  std::vector<TokenFile> labels_;
  std::size_t image_bytes_ = 0;
  std::vector<std::int64_t> first_;  // sample of each file; one more at the end
};

}  // namespace penstock
