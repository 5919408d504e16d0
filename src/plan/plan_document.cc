#include <fmt/format.h>

#include <cmath>

#include "io/whole_seconds.h"
#include "kube/json.h"
#include "plan/plan_forms.h"

namespace careen::plan {

using kube::Json;

namespace {

std::string in_seconds(io::Wall time) { return io::format_rfc3339(io::whole_seconds(time)); }

Json row_document(const PlanRow& row) {
  Json out = Json::object({{"node", row.node}, {"profile", row.profile}});
  if (row.requested) out.set({"requested"}, in_seconds(*row.requested));
  out.set({"begin"}, in_seconds(row.begin));
  if (row.end) out.set({"end"}, in_seconds(*row.end));
  if (row.drain) out.set({"drain"}, static_cast<int64_t>(std::lround(io::to_seconds(*row.drain))));
  return out;
}

Json unserved_document(const std::vector<Unserved>& all) {
  Json out = Json::array();
  for (const Unserved& one : all) {
    out.push_back(Json::object({{"node", one.node}, {"profile", one.profile}, {"why", one.why}}));
  }
  return out;
}

Json campaign_document(const Campaign& campaign) {
  const auto number = [](size_t count) { return Json(static_cast<int64_t>(count)); };
  Json out = Json::object({{"profile", campaign.profile},
                           {"maintained", number(campaign.maintained)},
                           {"left", number(campaign.left)},
                           {"stuck", number(campaign.stuck)},
                           {"atOnce", number(campaign.at_once)}});
  if (campaign.begin) out.set({"begin"}, in_seconds(*campaign.begin));
  if (campaign.end) out.set({"end"}, in_seconds(*campaign.end));
  return out;
}

Json texts(const std::vector<std::string>& all) {
  Json out = Json::array();
  for (const std::string& one : all) out.push_back(one);
  return out;
}

}  // namespace

std::string plan_document(const Plan& plan) {
  Json out = Json::object({{"from", in_seconds(plan.from)},
                           {"until", in_seconds(plan.until)},
                           {"complete", plan.complete},
                           {"assumptions", texts(plan.assumptions)},
                           {"notes", texts(plan.notes)},
                           {"atOnce", static_cast<int64_t>(plan.at_once)}});
  Json campaigns = Json::array(), rows = Json::array(), limits = Json::array();
  for (const Campaign& campaign : plan.campaigns) campaigns.push_back(campaign_document(campaign));
  for (const PlanRow& row : plan.rows) rows.push_back(row_document(row));
  for (const Limit& limit : plan.limits) {
    limits.push_back(Json::object({{"what", limit.what}, {"share", std::round(limit.share * 1000) / 1000}}));
  }
  out.set({"campaigns"}, std::move(campaigns)).set({"rows"}, std::move(rows));
  out.set({"stuck"}, unserved_document(plan.stuck)).set({"left"}, unserved_document(plan.left));
  out.set({"limits"}, std::move(limits));
  return out.dump();
}

std::string short_time(io::Wall time) {
  std::string text = io::format_rfc3339(std::chrono::floor<std::chrono::minutes>(time)).substr(0, 16);
  text[10] = ' ';
  return text;
}

std::string short_span(io::Duration span) {
  const int64_t seconds = std::llround(io::to_seconds(span));
  const auto two = [](int64_t great, const char* unit, int64_t small, const char* smaller) {
    return small == 0 ? fmt::format("{}{}", great, unit) : fmt::format("{}{}{}{}", great, unit, small, smaller);
  };
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return two(seconds / 60, "m", seconds % 60, "s");
  if (seconds < 86400) return two(seconds / 3600, "h", seconds % 3600 / 60, "m");
  return two(seconds / 86400, "d", seconds % 86400 / 3600, "h");
}

std::string headline(const Plan& plan) {
  if (plan.rows.empty() && plan.stuck.empty() && plan.left.empty()) {
    return fmt::format("Nothing is maintained until {} UTC.", short_time(plan.until));
  }
  std::optional<io::Wall> last;
  for (const PlanRow& row : plan.rows) {
    if (row.end) last = std::max(last.value_or(*row.end), *row.end);
  }
  if (plan.left.empty() && plan.stuck.empty() && last) {
    return fmt::format("All is done on {} UTC, {} from now.", short_time(*last), short_span(*last - plan.from));
  }
  std::string out;
  if (!plan.stuck.empty()) out = fmt::format("{} never get through", plan.stuck.size());
  if (!plan.left.empty()) {
    out +=
        fmt::format("{}{} are not done by {} UTC", out.empty() ? "" : "; ", plan.left.size(), short_time(plan.until));
  }
  return out + ".";
}

}  // namespace careen::plan
