#include "estimator/backward_products.h"

namespace penstock {
namespace {

// Gradients of the weights of a forward's product are added to those of the micro-batches before:
// each is read and written once.
double summed_bytes(const Product& p, const CountKey& key) {
  return 2.0 * key.gradient_bytes * p.inner * p.columns * p.count;
}

// By the product that makes them (Megatron-LM's gradient accumulation fusion), or by a kernel
// apart.
double summed_by_product(const Product& p, const CountKey& key) {
  return key.sums_apart ? 0.0 : summed_bytes(p, key);
}

}  // namespace

double summed_apart(const std::vector<Product>& forward, const CountKey& key) {
  double bytes = 0.0;
  if (!key.sums_apart) return bytes;
  for (const Product& p : forward) bytes += summed_bytes(p, key);
  return bytes;
}

// Of each product of a forward the backward makes two: the gradient of its input and of its
// weights.
std::vector<Product> backward_of(const std::vector<Product>& products, const CountKey& key) {
  std::vector<Product> out;
  out.reserve(2 * products.size());
  for (const Product& p : products) {
    out.push_back({p.rows, p.inner, p.columns, p.count, p.kind});
    out.push_back({p.inner, p.columns, p.rows, p.count, p.kind, summed_by_product(p, key)});
  }
  return out;
}

}  // namespace penstock
