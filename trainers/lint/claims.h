// What the trainers' claims on a file share (TrainerRow::linter). Private to trainers/.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

namespace penstock {

inline bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [text](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

inline bool is_script(const std::string& file) {
  return file.ends_with(".sh") || file.ends_with(".sbatch") || file.ends_with(".slurm");
}

// A document may show flags, and is no launch file.
inline bool is_document(const std::string& file) {
  return file.ends_with(".json") || file.ends_with(".md");
}

}  // namespace penstock
