#include "controllers/profiles/expression_fold.h"

namespace careen::profiles {

namespace {

struct Blocking {
  bool holds = false;
  std::vector<size_t> places;
};

Blocking both(Blocking left, const Blocking& right) {
  left.holds = false;
  left.places.insert(left.places.end(), right.places.begin(), right.places.end());
  return left;
}

}  // namespace

std::vector<size_t> blocking_leaves(const CheckExpression& expression,
                                    const std::function<bool(size_t place)>& value_of_leaf) {
  if (expression.nodes.empty()) return {};
  const auto leaf = [&](size_t place, bool wanted) {
    if (value_of_leaf(place) == wanted) return Blocking{true, {}};
    return Blocking{false, {place}};
  };
  const auto all = [](Blocking left, Blocking right) {
    if (left.holds && right.holds) return Blocking{true, {}};
    return both(std::move(left), right);
  };
  const auto any = [](Blocking left, Blocking right) {
    if (left.holds || right.holds) return Blocking{true, {}};
    return both(std::move(left), right);
  };
  return fold(expression, true, leaf, all, any).places;
}

}  // namespace careen::profiles
