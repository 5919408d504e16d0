#include "controllers/profiles/expression_why.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace careen::profiles {

namespace {

using Op = CheckExpression::Op;
using Verdict = Why::Verdict;

Verdict negated(Verdict verdict) {
  if (verdict == Verdict::yes) return Verdict::no;
  return verdict == Verdict::no ? Verdict::yes : verdict;
}

// `decisive` of one operand settles it, whatever the others are.
Verdict joined(const std::vector<Why>& operands, Verdict decisive) {
  const auto any = [&](Verdict wanted) {
    return std::any_of(operands.begin(), operands.end(), [&](const Why& why) { return why.verdict == wanted; });
  };
  if (any(decisive)) return decisive;
  return any(Verdict::error) ? Verdict::error : negated(decisive);
}

class Tree {
 public:
  Tree(const CheckExpression& expression, std::span<const CheckOutcome> checks)
      : nodes_(expression.nodes), checks_(checks) {}

  Why of(int index) const {
    const auto& node = at(index);
    switch (node.op) {
      case Op::leaf:
        return leaf(node.left, false);
      case Op::negate:
        return not_of(node.left);
      case Op::both: {
        std::vector<Why> operands = operands_of(index, Op::both);
        return {joined(operands, Verdict::no), "all of", std::move(operands)};
      }
      case Op::either: {
        std::vector<Why> operands = operands_of(index, Op::either);
        return {joined(operands, Verdict::yes), "one of", std::move(operands)};
      }
    }
    return {};
  }

  // a && b && c are three operands of one, however they are nested.
  std::vector<Why> operands_of(int index, Op op) const {
    const auto& node = at(index);
    std::vector<Why> all;
    for (const int operand : {node.left, node.right}) {
      if (at(operand).op != op) {
        all.push_back(of(operand));
        continue;
      }
      std::vector<Why> further = operands_of(operand, op);
      std::move(further.begin(), further.end(), std::back_inserter(all));
    }
    return all;
  }

  bool is(int index, Op op) const { return at(index).op == op; }

 private:
  const CheckExpression::Node& at(int index) const { return nodes_[static_cast<size_t>(index)]; }

  Why not_of(int operand) const {
    if (is(operand, Op::leaf)) return leaf(at(operand).left, true);
    Why inner = of(operand);
    const Verdict verdict = negated(inner.verdict);
    return {verdict, "not", {std::move(inner)}};
  }

  Why leaf(int place, bool negate) const {
    const CheckOutcome& check = checks_[static_cast<size_t>(place)];
    const std::string name = (negate ? "!" : "") + check.instance;
    if (!check.error.empty()) return {Verdict::error, name + ": " + check.error, {}};
    return {check.passed != negate ? Verdict::yes : Verdict::no, name + ": " + check.reason, {}};
  }

  std::span<const CheckExpression::Node> nodes_;
  std::span<const CheckOutcome> checks_;
};

}  // namespace

std::vector<Why> explain_expression(const CheckExpression& expression, std::span<const CheckOutcome> checks) {
  if (expression.nodes.empty() || checks.size() != expression.leaves.size()) return {};
  const Tree tree(expression, checks);
  const int root = static_cast<int>(expression.nodes.size()) - 1;
  if (tree.is(root, Op::both)) return tree.operands_of(root, Op::both);
  std::vector<Why> one;
  one.push_back(tree.of(root));
  return one;
}

}  // namespace careen::profiles
