#pragma once

struct Piece {
  int size = 0;
};
