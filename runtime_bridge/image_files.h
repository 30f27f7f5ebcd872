// Files of images and their labels, mapped: a pair of .npy files, or a .npz file with both.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "training/image_data.h"

namespace penstock {

struct ImageFiles {
  std::vector<ImageFile> images;
  std::vector<TokenFile> labels;   // one of each file of images
  std::vector<std::string> names;  // of all files
};

// `labels`: files in the order of `data`; none where `data` are .npz files, which hold arrays
// "images" and "labels". Error{kMissingResource} when there is no such file, Error{kBadInput} for
// files without images.
ImageFiles open_image_files(const std::vector<std::string>& data,
                            const std::vector<std::string>& labels);

}  // namespace penstock
