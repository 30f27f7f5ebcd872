#include "cli/files.h"

#include "core/format.h"
#include "core/json_reader.h"

namespace penstock {

Loaded<Json> load_json(const std::string& path) {
  const std::string text = read_file(path);
  return {parse_json(text, path), {path, content_hash(text)}};
}

Loaded<ModelProfile> load_profile(const std::string& path) {
  const Loaded<Json> json = load_json(path);
  return {read_profile(json.value, path), json.file};
}

Loaded<ClusterSpec> load_cluster(const std::string& path) {
  const Loaded<Json> json = load_json(path);
  return {read_cluster(json.value, path), json.file};
}

Loaded<PlanFile> load_plan(const std::string& path) {
  const Loaded<Json> json = load_json(path);
  return {read_plan(json.value, path), json.file};
}

std::string format_of(const Json& json) {
  const Json* format = json.find("format");
  return format != nullptr && format->kind() == Json::Kind::kString ? format->text() : "";
}

}  // namespace penstock
