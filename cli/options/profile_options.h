// What `penstock profile` is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "core/values/model_description.h"
#include "core/values/units.h"

namespace penstock {

struct ProfileRequest {
  // Nothing: only links are measured.
  std::optional<ModelDescription> model;
  std::string name;
  std::vector<std::string> model_notes;  // what the model has and we do not measure
  // Of an archive: {"auto"}, {"children"} or names.
  std::vector<std::string> cutpoints;
  std::vector<std::string> notes;  // sentences for the report
  std::vector<int> micro_batch_sizes = {1};
  int sequence_length = 0;              // the longest
  std::vector<int> sequence_lengths{};  // several: all of them, ascending
  std::vector<int> decoder_lengths{};   // of t5
  std::vector<bool> recompute = {false};
  bool every_section = false, splits = true;
  double error = 0.005;  // of medians
  int beside = 0;        // ranks that run the same sections meanwhile
  std::string device = "cpu", device_type = "cpu";
  bool trace = true, record = false;  // on a GPU: its activity, and kept

  bool links = false, busy_links = false;
  int participants = 2;
  Bytes largest_message{64 << 20};

  Duration budget = std::chrono::seconds(60);  // for the sections, and again for the links
  [[nodiscard]] int ranks() const;
};

class ProfileOptions {
 public:
  void declare(Options& options);
  // Error{kBadInput} for the name of a GPU, which is known before anything can be measured.
  void require_device_here() const;
  // Error{kBadInput} for what makes no sense.
  [[nodiscard]] ProfileRequest request(int processors) const;

 private:
  [[nodiscard]] ModelDescription built_in(ModelFamily family) const;
  void set_model(ProfileRequest& request) const;
  void set_cutpoints(ProfileRequest& request) const;
  [[nodiscard]] std::vector<std::int64_t> image_sizes() const;
  void set_image(ProfileRequest& request) const;
  void set_sizes(ProfileRequest& request) const;
  void set_links(ProfileRequest& request, int processors) const;

  std::optional<std::string> model_;
  std::optional<std::string> layers_, hidden_, heads_, feed_forward_, vocabulary_, positions_;
  std::optional<std::string> decoder_layers_, decoder_length_;
  std::optional<std::string> cutpoints_;
  std::optional<std::string> sizes_, sequence_length_, image_, recompute_, precision_, optimizer_;
  std::optional<std::string> device_, device_type_, budget_, spread_, beside_;
  std::optional<std::string> participants_, largest_;
  bool tied_ = false, every_section_ = false, fused_only_ = false;
  bool links_ = false, busy_links_ = false;
  TypedCommand command_;
};

}  // namespace penstock
