// Recipes of Megatron-Bridge and NeMo: Python that sets fields, which have Megatron-LM's flags of
// the same meaning. One table of names, so that the rules are the same. Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/lint/launch_script.h"

namespace penstock {

// VP of a recipe that also has a layout: no flag, since it splits nothing.
inline constexpr const char* kVirtualBesideLayout = "virtual_pipeline_model_parallel_size";

// Of one function of the file.
struct MegatronRecipe {
  std::string function;  // empty: what stands outside of functions
  LaunchSettings settings;
};

bool is_megatron_recipe(std::string_view text, const std::string& file);

// Only functions that set something. `first_line`: the number that the file's first line has.
// Error{kBadInput} for quotes and brackets that are not closed.
std::vector<MegatronRecipe> read_megatron_recipes(std::string_view text, const std::string& file,
                                                  int first_line = 1);

// What the recipe begins with may set the rest; beside a layout the field VP splits nothing.
void finish_recipe(LaunchSettings& settings, const std::string& begins_with);

// The table "overrides" of the newest version: settings of a script that starts a recipe.
const Json& recipe_overrides();
// Whether a text has one of these that tells such a script.
bool starts_recipe(std::string_view text);
// What such a script sets behind its program; nothing where that is none of the table.
std::optional<MegatronRecipe> recipe_of_overrides(const LaunchScript& script);
// GPUs that it asks for so, or why they are not known.
void take_gpus_of_overrides(LaunchScript& script);
// What the script sets is set behind a recipe that it starts.
void put_over(LaunchSettings& recipe, const LaunchScript& script);

// Flags in a sentence, "--micro-batch-size 2", as fields: "micro_batch_size = 2".
std::string in_fields(std::string sentence);

}  // namespace penstock
