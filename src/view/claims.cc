#include "view/claims.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "budget/ledger.h"
#include "drain/terminal_claims.h"
#include "kube/json_writer.h"
#include "kube/name_order.h"
#include "replica/replica.h"
#include "view/work.h"

namespace careen::view {

namespace {

using budget::Claim;

void add(std::vector<Claim>& all, std::vector<Claim> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Whoever stands in the ledger and is not known to be any further.
void add_admitted(const budget::Ledger& ledger, std::vector<Claim>& all) {
  std::set<std::pair<std::string, std::string>> known;  // UID and who
  for (const Claim& claim : all) known.emplace(claim.uid, claim.who);
  for (const auto& [key, entry] : ledger.entries()) {
    // What limits remember of nodes is nobody's claim.
    if (entry.admission.by.find('/') == std::string::npos) continue;
    if (!known.contains({entry.admission.uid, entry.admission.by})) all.push_back(claim_of(entry.admission));
  }
}

bool is_first(const Claim& a, const Claim& b) {
  if (a.since != b.since) return a.since < b.since;  // nothing is less than any time
  return a.node != b.node ? kube::compare_names(a.node, b.node) < 0 : a.who < b.who;
}

void append_claim(std::string& out, const Claim& claim) {
  using kube::append_json;
  kube::Members members(out, '{', '}');
  append_json(members.next("who"), claim.who);
  append_json(members.next("node"), claim.node);
  if (claim.since) append_json(members.next("since"), *claim.since);
  append_json(members.next("stage"), name_of(claim.stage));
  append_json(members.next("budgets"), claim.budgets);
}

}  // namespace

std::vector<Claim> claims_of(const replica::Replica& replica, const Work& work) {
  std::vector<Claim> all = drain::terminal_claims(replica.nodes());
  for (const Work::Part& part : work.parts()) add(all, part.picture->claims());
  add_admitted(replica.ledger(), all);
  std::sort(all.begin(), all.end(), is_first);
  return all;
}

void append_claims(std::string& out, const std::vector<Claim>& claims) {
  kube::Members members(out, '{', '}');
  kube::append_json(members.next("count"), claims.size());
  kube::Members first(members.next("first"), '[', ']');
  for (size_t i = 0; i < std::min(claims.size(), kMostClaims); ++i) append_claim(first.next(), claims[i]);
}

}  // namespace careen::view
