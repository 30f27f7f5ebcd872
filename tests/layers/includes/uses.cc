// Uses what it does not include: tools/includes_check.py says so.
#include <string>

std::vector<Piece> pieces(const std::string& names);
