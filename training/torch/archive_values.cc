// LibTorch asks a ReadAdapterInterface for the bytes of every record, and names the memory that
// they shall go to: for a stored record, that of the tensor's storage. For records of tensors the
// adapter notes that memory and leaves it alone. That it was the storage's memory is not taken for
// granted: a module is handed out only if every tensor in it lies in memory that was noted.
#include "training/torch/archive_values.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <set>

#include <ATen/ATen.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <torch/csrc/jit/serialization/import.h>

#include "training/torch/cpu_device.h"

namespace penstock {

class ArchiveValues::Adapter : public caffe2::serialize::ReadAdapterInterface {
 public:
  Adapter(const ArchiveFile& file, std::map<const void*, std::size_t>& places)
      : file_(file), places_(places) {
    for (std::size_t i = 0; i < file.tensors().size(); ++i) {
      records_[file.tensors()[i].begin] = i;
    }
  }

  [[nodiscard]] std::size_t size() const override { return file_.size(); }
  std::size_t read(std::uint64_t begin, void* to, std::size_t bytes,
                   const char* /*what*/) const override {
    const auto record = records_.find(begin);
    if (record != records_.end() && file_.tensors()[record->second].record.size == bytes) {
      places_[to] = record->second;
    } else {
      file_.read(begin, {static_cast<std::byte*>(to), bytes});
    }
    return bytes;
  }

 private:
  const ArchiveFile& file_;
  std::map<const void*, std::size_t>& places_;
  std::map<std::uint64_t, std::size_t> records_;  // by where they begin
};

namespace {

const void* memory_of(const at::Tensor& tensor) {
  return tensor.storage().unsafeGetStorageImpl()->data();
}

bool has_memory(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() && tensor.storage().nbytes() > 0;
}

// What classes keep besides tensors and lists of them is not looked into.
bool holds_tensors(const c10::IValue& value) {
  bool found = false;
  value.visit([&](const c10::IValue& inner) {
    found = found || inner.isTensor() || inner.isCustomClass();
    return false;
  });
  return found;
}

}  // namespace

bool ArchiveValues::knows(const at::Tensor& tensor) const {
  if (!tensor.defined()) return true;
  if (tensor.layout() != at::kStrided || tensor.is_quantized()) return false;
  if (!has_memory(tensor)) return true;
  const auto place = places_.find(memory_of(tensor));
  return place != places_.end() &&
         file_.tensors()[place->second].record.size == tensor.storage().nbytes();
}

bool ArchiveValues::knows_all(const torch::jit::Module& module) const {
  for (const torch::jit::Module& each : module.modules()) {
    if (each.find_method("__setstate__")) return false;
  }
  for (const c10::IValue& value : module.attributes()) {
    if (value.isModule()) continue;
    if (value.isTensor()) {
      if (!knows(value.toTensor())) return false;
    } else if (value.isTensorList()) {
      const auto list = value.toTensorVector();
      if (!std::ranges::all_of(list, [this](const auto& each) { return knows(each); }))
        return false;
    } else if (holds_tensors(value)) {
      return false;
    }
  }
  return true;
}

// What LibTorch cannot load like this, a class that computes with its tensors when it is loaded, it
// can perhaps load with all values; else it says then why not.
std::optional<torch::jit::Module> ArchiveValues::load() {
  if (file_.tensors().empty()) return std::nullopt;
  torch::jit::Module module;
  try {
    const UncountedMemory reserved;
    module = torch::jit::load(std::make_shared<Adapter>(file_, places_));
  } catch (const std::exception&) {
    places_.clear();
    return std::nullopt;
  }
  const bool is_known = knows_all(module);
  std::set<const void*> kept;
  const auto keep = [&](const at::Tensor& tensor) {
    if (has_memory(tensor)) kept.insert(memory_of(tensor));
  };
  for (const c10::IValue& value : module.attributes()) {
    if (value.isTensor()) keep(value.toTensor());
    if (value.isTensorList()) std::ranges::for_each(value.toTensorVector(), keep);
  }
  // Of what LibTorch has let go the memory may be another tensor's by now.
  std::erase_if(places_, [&](const auto& place) { return !kept.contains(place.first); });
  if (is_known) return module;
  places_.clear();
  return std::nullopt;
}

at::Tensor ArchiveValues::read(const at::Tensor& tensor) const {
  if (!has_memory(tensor) || tensor.numel() == 0) return tensor;
  const auto place = places_.find(memory_of(tensor));
  if (place == places_.end()) return tensor;
  std::int64_t elements = 1;
  for (std::int64_t i = 0; i < tensor.dim(); ++i) {
    elements += (tensor.size(i) - 1) * tensor.stride(i);
  }
  const at::NoGradGuard no_grad;
  const at::Tensor memory = at::empty({elements}, tensor.options().requires_grad(false));
  file_.read(place->second,
             static_cast<std::uint64_t>(tensor.storage_offset()) * tensor.element_size(),
             {static_cast<std::byte*>(memory.data_ptr()), memory.nbytes()});
  return memory.as_strided(tensor.sizes(), tensor.strides())
      .set_requires_grad(tensor.requires_grad());
}

}  // namespace penstock
