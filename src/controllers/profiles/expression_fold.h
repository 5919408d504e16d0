// The one walk over a check expression for whoever asks what would have to be so that it has a value: what keeps it
// from it, in words or as a list, or what to change.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "controllers/profiles/expression.h"

namespace careen::profiles {

namespace detail {
template <class Leaf, class All, class Any>
auto fold_node(const CheckExpression& expression, int index, bool wanted, const Leaf& leaf, const All& all,
               const Any& any) -> decltype(leaf(size_t{}, true)) {
  using Op = CheckExpression::Op;
  const CheckExpression::Node& node = expression.nodes[static_cast<size_t>(index)];
  if (node.op == Op::leaf) return leaf(static_cast<size_t>(node.left), wanted);
  if (node.op == Op::negate) return fold_node(expression, node.left, !wanted, leaf, all, any);
  auto left = fold_node(expression, node.left, wanted, leaf, all, any);
  auto right = fold_node(expression, node.right, wanted, leaf, all, any);
  // By De Morgan's laws, what has to be false of both is what has to be true of either.
  const bool both = (node.op == Op::both) == wanted;
  return both ? all(std::move(left), std::move(right)) : any(std::move(left), std::move(right));
}
}  // namespace detail

// From the leaves up: leaf(place, wanted) is what there is to say of leaves[place] having the wanted value, all(a, b)
// of two operands that both have to have theirs, any(a, b) of two of which one does. The expression is not empty.
template <class Leaf, class All, class Any>
auto fold(const CheckExpression& expression, bool wanted, const Leaf& leaf, const All& all, const Any& any) {
  return detail::fold_node(expression, static_cast<int>(expression.nodes.size()) - 1, wanted, leaf, all, any);
}

// The leaves that keep the expression from being true, by their places; none if it is.
std::vector<size_t> blocking_leaves(const CheckExpression& expression,
                                    const std::function<bool(size_t place)>& value_of_leaf);

}  // namespace careen::profiles
