// How the picture of a step looks: its title, and which part of the step it shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "report/pictures/step_picture.h"

namespace penstock {

struct PictureOptions {
  std::optional<std::string> title, window;

  void declare(Options& options);
  [[nodiscard]] bool given() const { return title || window; }
  // `otherwise`: the title when none was given.
  [[nodiscard]] StepPictureOptions chosen(const std::vector<StepTrace>& traces,
                                          const std::string& otherwise) const;
};

}  // namespace penstock
