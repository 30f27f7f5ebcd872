#include "estimator/product_shape.h"

#include <array>
#include <cmath>

namespace penstock {
namespace {

// Tiles that cuBLAS chooses from, and how fast one is relative to the largest: smaller ones read
// more per operation. Speeds are assumed, after published sweeps over tile sizes.
struct Tile {
  double rows, columns, speed;
};
constexpr std::array kTiles{Tile{256, 128, 1.0}, Tile{128, 256, 1.0}, Tile{128, 128, 0.93},
                            Tile{128, 64, 0.8}, Tile{64, 64, 0.6}};
// Few deep tiles are cut along their depth too, and their parts summed up.
constexpr std::array kParts{1.0, 2.0, 4.0, 8.0};
constexpr double kShallowest = 512.0, kSumming = 1.05;
// Filling a tile's pipeline and writing its result takes as long as this much more depth.
constexpr double kFill = 128.0;

}  // namespace

double shape_factor(const Product& product, int processors) {
  if (processors <= 0) return 1.0;
  const double exact = product.rows * product.columns;
  double least = 0.0;
  for (const Tile& tile : kTiles) {
    const double tiles =
        std::ceil(product.rows / tile.rows) * std::ceil(product.columns / tile.columns);
    for (const double parts : kParts) {
      if (parts > 1.0 && product.inner / parts < kShallowest) break;
      const double rounds = std::ceil(tiles * parts / processors) / parts;
      const double taken = rounds * processors * tile.rows * tile.columns / tile.speed *
                           (parts > 1.0 ? kSumming : 1.0);
      if (least == 0.0 || taken < least) least = taken;
    }
  }
  return least / exact * (1.0 + kFill / product.inner);
}

}  // namespace penstock
