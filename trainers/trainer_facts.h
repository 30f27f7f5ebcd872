// The files of facts, trainers/<folder>/<name>.json, which are compiled into the library. Private
// to trainers/; data/schemas/penstock.trainer-1.schema.json describes them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/json.h"
#include "core/values/trainer.h"

namespace penstock {

struct ShippedFacts {
  std::string_view folder, name;  // "megatron", "0.20"
  std::string_view text;
};
std::span<const ShippedFacts> shipped_facts();  // by folder, then name

// The executor and the limits of facts that have them. `name`, `title`: of the trainer.
Trainer trainer_of_facts(const Json& facts, const std::string& file, std::string name,
                         std::string title);

// Members that a file of this kind has; Error{kInternal} when it has not, which a test excludes.
const Json& fact(const Json& facts, std::string_view key);
const std::string& fact_text(const Json& facts, std::string_view key);
bool has_fact(const Json& facts, std::string_view key, std::string_view word);  // of a list
std::vector<std::string_view> fact_names(const Json& facts, std::string_view key);

}  // namespace penstock
