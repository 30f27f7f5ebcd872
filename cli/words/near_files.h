// Which file was meant by a name that is not there: one beside it of a kind that is read there, or
// a model that lies with the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// "did you mean 'config.json'?" of the files beside it, or nothing. Where JSON is read a neighbour
// is JSON, elsewhere it is of the kind that the name says; a folder only with a config.json in it,
// and only where `takes_folder`; of our files those that may be of `format` ("penstock.jobs/1").
std::string near_file(const std::string& path, bool is_json, bool takes_folder,
                      std::string_view format = "");

// "in this folder: a.csv, b.csv", where the name says which kind is meant and there are some.
std::string files_of_kind(const std::string& path);

// Models that lie with the program.
struct ShippedModels {
  std::string paths;   // "a.json or b.json"; empty: none has such a name
  bool is_it = false;  // the name is the model's whole one
};
// Of "llama3-8b", "meta-llama/Llama-2-70b-hf".
ShippedModels shipped_models(const std::string& typed);

// The path of a cluster file of that name that lies with the program, or nothing.
std::string shipped_cluster(const std::string& typed);

// The smallest cluster file that has such devices, and only these: cluster.json of this folder, or
// one that lies with the program; or nothing.
std::string cluster_with(const std::vector<std::string>& devices);
// A config.json that is there: that of this folder, or one that lies with the program.
std::string model_at_hand();

// The first 64 KiB of a file; of what is none, nothing.
std::string beginning_of(const std::string& path);

// "penstock.cluster/1" of a file of ours, as far as its beginning says it; else empty.
std::string format_of_file(const std::string& path);

}  // namespace penstock
