// Nothing is copied: an array of a .npy file lies behind its header, and numpy.savez stores such
// files in a zip as they are, so that it lies there, too.
#include "runtime_bridge/image_files.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/values/error.h"
#include "runtime_bridge/expanded_names.h"
#include "runtime_bridge/npy_header.h"
#include "training/mapped_file.h"
#include "training/zip_directory.h"

namespace penstock {
namespace {

constexpr const char* kHelp =
    "\nhelp: numpy.save('images.npy', images) and numpy.save('labels.npy', labels), with images "
    "[samples, channels, height, width] and labels [samples]; or numpy.savez('data.npz', "
    "images=images, labels=labels)";

// An array, its numbers still without a meaning.
struct Array {
  std::string name;  // of the file; in a zip with the name there
  NpyHeader header;
  std::span<const std::byte> bytes;
  std::size_t offset = 0;  // of these in the file
  std::shared_ptr<const void> owner;
};

// `begin` and `size`: of the .npy file in the mapped one.
Array array_in(const std::shared_ptr<const MappedFile>& mapped, std::size_t begin, std::size_t size,
               const std::string& name) {
  const std::string_view text = mapped->text().substr(begin, size);
  if (!is_npy(text)) throw_bad_input(name + ": is no .npy array" + kHelp);
  Array array;
  array.name = name;
  array.header = read_npy_header(text, name);
  if (array.header.fortran_order && array.header.shape.size() > 1) {
    throw_bad_input(name + ": is in Fortran order\nhelp: numpy.ascontiguousarray(images)");
  }
  const std::size_t at = std::min(array.header.data_offset, size);
  array.offset = begin + at;
  array.bytes = mapped->bytes().subspan(array.offset, size - at);
  array.owner = mapped;
  return array;
}

Array npy(const std::string& path) {
  const auto mapped = std::make_shared<const MappedFile>(path);
  return array_in(mapped, 0, mapped->bytes().size(), path);
}

Array npz(const std::shared_ptr<const MappedFile>& mapped, const std::string& path,
          const std::string& array) {
  const std::string name = path + ": " + array;
  std::string others;
  for (const ZipRecord& record : zip_directory(mapped->text(), path)) {
    if (record.name != array + ".npy") {
      others += (others.empty() ? "" : ", ") + record.name;
      continue;
    }
    if (!record.is_stored) {
      throw_bad_input(name +
                      ": is compressed, and images are read where they lie\nhelp: write it "
                      "with numpy.savez instead of numpy.savez_compressed");
    }
    return array_in(mapped, content_of(record, mapped->text(), path), record.size, name);
  }
  throw_bad_input(path + ": holds no array \"" + array + "\"" +
                  (others.empty() ? "" : ", but " + others) + kHelp);
}

void require_whole(const Array& array, std::size_t element) {
  const std::int64_t elements = elements_of(array.header);
  const auto holds = static_cast<std::int64_t>(array.bytes.size() / element);
  if (elements == holds) return;
  throw_bad_input(array.name + ": should hold " + std::to_string(elements) +
                  " numbers by its header, and holds " + std::to_string(holds) +
                  "\nhelp: was it copied whole?");
}

ImageFile images_of(Array array) {
  static constexpr std::array<std::pair<std::string_view, PixelType>, 4> kKnown{
      {{"|u1", PixelType::kUint8},
       {"<f2", PixelType::kFloat16},
       {"<f4", PixelType::kFloat32},
       {"<f8", PixelType::kFloat64}}};
  const auto* const known =
      std::ranges::find(kKnown, array.header.descr, &std::pair<std::string_view, PixelType>::first);
  if (known == kKnown.end()) {
    throw_bad_input(array.name + ": its elements are '" + array.header.descr +
                    "'; images are '|u1' (0 to 255), '<f2', '<f4' or '<f8'\nhelp: "
                    "numpy.save(file, images.astype('float32'))");
  }
  if (array.header.shape.size() != 4 || std::ranges::count(array.header.shape, 0) > 0) {
    throw_bad_input(array.name + ": is not a list of images [samples, channels, height, width]" +
                    kHelp);
  }
  require_whole(array, size_of(known->second));
  ImageFile file;
  file.name = array.name;
  file.type = known->second;
  file.bytes = array.bytes;
  file.shape.assign(array.header.shape.begin() + 1, array.header.shape.end());
  file.owner = std::move(array.owner);
  return file;
}

TokenFile labels_of(Array array) {
  const auto type = integers_of(array.header);
  if (!type || array.header.shape.size() != 1) {
    throw_bad_input(array.name + ": labels are integers, one for each image, and it holds '" +
                    array.header.descr + "' in " + std::to_string(array.header.shape.size()) +
                    " dimensions\nhelp: numpy.save(file, labels.astype('int64').reshape(-1))");
  }
  require_whole(array, size_of(*type));
  TokenFile file;
  file.name = array.name;
  file.type = *type;
  file.bytes = array.bytes;
  file.offset = array.offset;
  file.owner = std::move(array.owner);
  return file;
}

bool is_zip(const MappedFile& file) { return file.text().starts_with("PK"); }

void add_pairs(const std::vector<std::string>& labels, ImageFiles& files) {
  const std::vector<std::string> names = expanded_names(labels);
  if (names.size() != files.names.size()) {
    throw_bad_input("--labels: " + std::to_string(names.size()) + " files of labels for " +
                    std::to_string(files.names.size()) +
                    " of images\nhelp: give one for each, in the order of --data");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    files.images.push_back(images_of(npy(files.names[i])));
    files.labels.push_back(labels_of(npy(names[i])));
  }
  files.names.insert(files.names.end(), names.begin(), names.end());
}

}  // namespace

ImageFiles open_image_files(const std::vector<std::string>& data,
                            const std::vector<std::string>& labels) {
  ImageFiles files;
  files.names = expanded_names(data);
  if (!labels.empty()) {
    add_pairs(labels, files);
    return files;
  }
  for (const std::string& path : files.names) {
    const auto mapped = std::make_shared<const MappedFile>(path);
    if (!is_zip(*mapped)) {
      throw_bad_input(path + ": the model takes images with labels, and there are no labels" +
                      "\nhelp: add --labels labels.npy, or give both in one .npz file");
    }
    files.images.push_back(images_of(npz(mapped, path, "images")));
    files.labels.push_back(labels_of(npz(mapped, path, "labels")));
  }
  return files;
}

}  // namespace penstock
