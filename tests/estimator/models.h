// Models of the public sizes, for tests.
#pragma once

#include <string>

#include "core/values/architecture.h"
#include "core/values/json_reader.h"

namespace penstock::tests {

inline Architecture model_of(const std::string& text) {
  return read_architecture(parse_json(text, "config.json"), "config.json");
}

// "llama-3-8b": data/models/llama-3-8b.json
inline Architecture shipped_model(const std::string& name) {
  return model_of(read_file("data/models/" + name + ".json"));
}

}  // namespace penstock::tests
