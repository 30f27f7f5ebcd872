// Images with labels, read where they lie: sample k is image k of all files in their order.
//
// The file of a sample is found by bisection in the running sums of images per file. Shapes, types
// and numbers of labels are compared once, when the files are opened; labels are checked when they
// are used, and the first part of every file before the run begins.
#include "training/image_data.h"

#include <algorithm>
#include <utility>

#include "core/values/error.h"

namespace penstock {
namespace {

std::string words_of(const std::vector<std::int64_t>& shape) {
  std::string words;
  for (const std::int64_t size : shape) words += (words.empty() ? "" : "x") + std::to_string(size);
  return words;
}

std::size_t bytes_of_image(const ImageFile& file) {
  std::size_t bytes = size_of(file.type);
  for (const std::int64_t size : file.shape) bytes *= static_cast<std::size_t>(size);
  return bytes;
}

void require_images(const ImageFile& file, const ImageFile& first,
                    const std::vector<std::int64_t>& shape) {
  if (file.shape != shape) {
    throw_bad_input(file.name + ": its images are " + words_of(file.shape) +
                    " (channels, height, width), and the model was profiled with " +
                    words_of(shape) + "\nhelp: profile it with --image " + words_of(file.shape));
  }
  if (file.type != first.type) {
    throw_bad_input(file.name + ": holds " + std::string(name_of(file.type)) + ", and " +
                    first.name + " holds " + std::string(name_of(first.type)) +
                    "\nhelp: write all images in one type");
  }
}

}  // namespace

std::string_view name_of(PixelType type) {
  switch (type) {
    case PixelType::kUint8:
      return "uint8";
    case PixelType::kFloat16:
      return "float16";
    case PixelType::kFloat32:
      return "float32";
    case PixelType::kFloat64:
      return "float64";
  }
  return "";
}

std::size_t size_of(PixelType type) {
  switch (type) {
    case PixelType::kUint8:
      return 1;
    case PixelType::kFloat16:
      return 2;
    case PixelType::kFloat32:
      return 4;
    case PixelType::kFloat64:
      return 8;
  }
  return 1;
}

ImageData::ImageData(std::vector<ImageFile> images, std::vector<TokenFile> labels,
                     const std::vector<std::int64_t>& shape)
    : images_(std::move(images)), labels_(std::move(labels)), first_{0} {
  for (std::size_t i = 0; i < images_.size(); ++i) {
    require_images(images_[i], images_.front(), shape);
    image_bytes_ = bytes_of_image(images_[i]);
    const auto count = static_cast<std::int64_t>(images_[i].bytes.size() / image_bytes_);
    if (labels_[i].tokens() != count) {
      throw_bad_input(labels_[i].name + ": holds " + std::to_string(labels_[i].tokens()) +
                      " labels, and " + images_[i].name + " holds " + std::to_string(count) +
                      " images\nhelp: one label for each image, in the same order");
    }
    first_.push_back(first_.back() + count);
  }
  if (samples() == 0) throw_bad_input("--data: holds no image\nhelp: give at least one");
}

std::int64_t ImageData::label(std::size_t file, std::int64_t row) const {
  const std::int64_t label = token_at(labels_[file], row);
  if (label >= 0) return label;
  throw_bad_input(labels_[file].name + ": label " + std::to_string(row) + " is " +
                  std::to_string(label) +
                  "; classes are numbered from 0\nhelp: leave out images "
                  "that have no class");
}

TokenSample ImageData::sample(const ModelDescription& /*model*/, const SampleId& /*id*/,
                              std::int64_t number) const {
  const auto next = std::upper_bound(first_.begin(), first_.end(), number);
  const auto file = static_cast<std::size_t>(next - first_.begin()) - 1;
  const std::int64_t row = number - first_[file];
  const ImageFile& images = images_[file];
  TokenSample sample;
  sample.targets = {label(file, row)};
  sample.image = {images.type,
                  images.bytes.subspan(static_cast<std::size_t>(row) * image_bytes_, image_bytes_)};
  return sample;
}

void ImageData::check(std::size_t most_bytes) const {
  for (std::size_t file = 0; file < labels_.size(); ++file) {
    const auto most = static_cast<std::int64_t>(most_bytes / size_of(labels_[file].type));
    const std::int64_t end = std::min(labels_[file].tokens(), most);
    for (std::int64_t row = 0; row < end; ++row) static_cast<void>(label(file, row));
  }
}

}  // namespace penstock
