#include "budget/pause.h"

#include <fmt/format.h>

#include "io/whole_seconds.h"
#include "kube/json.h"

namespace careen::budget {

using kube::Json;
using kube::JsonView;

namespace {

// Longer ones are cut: a message repeats them, and nobody reads them.
constexpr size_t kMostShown = 60;

// In whose name everything stands still while nothing is known.
constexpr const char* kOurselves = "careen";

std::string shown(JsonView value) {
  std::string text = value.exists() ? value.dump() : "nothing";
  if (text.size() <= kMostShown) return text;
  size_t end = kMostShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + "…";
}

// Reads the document member by member and keeps the first mistake.
class Reader {
 public:
  tl::expected<PauseRecord, std::string> read(JsonView document) {
    if (!document.is_object()) {
      expected("the record", document, "an object with \"all\" and \"profiles\"");
    } else {
      document.for_each_member([&](std::string_view key, JsonView value) { read_member(key, value); });
    }
    if (!mistake_.empty()) return tl::make_unexpected(mistake_);
    return std::move(record_);
  }

 private:
  void read_member(std::string_view key, JsonView value) {
    if (key == "all") return read_pause("all", "", value);
    if (key != "profiles") return mistake(fmt::format("\"{}\" is unknown; \"all\" or \"profiles\" was expected", key));
    if (!value.is_object()) return expected("profiles", value, "an object with a member for each profile");
    value.for_each_member([&](std::string_view profile, JsonView pause) {
      if (profile.empty()) return mistake("profiles: the name of a profile was expected, and there is an empty one");
      read_pause(fmt::format("profiles.{}", profile), profile, pause);
    });
  }

  void read_pause(const std::string& where, std::string_view profile, JsonView value) {
    if (!value.is_object()) return expected(where, value, "an object with \"by\", \"since\" and \"reason\"");
    value.for_each_member([&](std::string_view key, JsonView) {
      if (key == "by" || key == "since" || key == "reason") return;
      mistake(fmt::format("{}: \"{}\" is unknown; \"by\", \"since\" or \"reason\" was expected", where, key));
    });
    const auto by = value["by"].text(), since = value["since"].text(), reason = value["reason"].text();
    const auto time = since ? io::parse_rfc3339(*since) : std::nullopt;
    if (!by || by->empty()) return expected(where + ".by", value["by"], "who set it, such as \"ana@host\"");
    // Nobody paused anything before there were clusters, and such times need not fit.
    if (!time || *time < io::Wall{})
      return expected(where + ".since", value["since"], "a time such as \"2026-03-01T10:00:00Z\"");
    if (value["reason"] && !reason) return expected(where + ".reason", value["reason"], "a text");
    record_.pauses.insert_or_assign(
        std::string(profile),
        Pause{std::string(profile), std::string(*by), io::whole_seconds(*time), std::string(reason.value_or(""))});
  }

  void expected(const std::string& where, JsonView value, std::string_view what) {
    mistake(fmt::format("{}: {} was expected, and there is {}", where, what, shown(value)));
  }

  void mistake(std::string text) {
    if (mistake_.empty()) mistake_ = std::move(text);
  }

  PauseRecord record_;
  std::string mistake_;
};

Json to_json(const Pause& pause) {
  Json out = Json::object({{"by", pause.by}, {"since", io::format_rfc3339(pause.since)}});
  if (!pause.reason.empty()) out.set({"reason"}, pause.reason);
  return out;
}

}  // namespace

std::string Pause::text() const {
  const std::string time = since == io::Wall{} ? "" : " since " + io::format_rfc3339(since);
  return fmt::format("paused by {}{}{}{}", by, time, reason.empty() ? "" : ": ", reason);
}

tl::expected<PauseRecord, std::string> PauseRecord::parse(std::string_view text) {
  const auto document = Json::parse(text);
  if (!document) return tl::make_unexpected("JSON was expected: " + document.error().message);
  return Reader().read(document->view());
}

std::string PauseRecord::text() const {
  Json out = Json::object();
  for (const auto& [profile, pause] : pauses) {
    if (profile.empty()) {
      out.set({"all"}, to_json(pause));
    } else {
      out.set({"profiles", profile}, to_json(pause));
    }
  }
  return out.dump();
}

void Pauses::unknown(std::string why, io::Wall since) {
  Pause all{"", kOurselves, io::whole_seconds(since), std::move(why)};
  // The same again is no change, and it began when it began.
  if (unknown_ && unknown_->reason == all.reason) return;
  unknown_ = std::move(all);
  listeners_.tell();
}

void Pauses::set(PauseRecord record) {
  std::map<std::string, Pause, std::less<>> now(std::make_move_iterator(record.pauses.begin()),
                                                std::make_move_iterator(record.pauses.end()));
  if (!unknown_ && now == pauses_) return;
  unknown_.reset();
  pauses_ = std::move(now);
  listeners_.tell();
}

const Pause* Pauses::of(std::string_view profile) const {
  if (unknown_) return &*unknown_;
  auto found = pauses_.find("");
  if (found == pauses_.end()) found = pauses_.find(profile);
  return found == pauses_.end() ? nullptr : &found->second;
}

std::vector<Pause> Pauses::all() const {
  if (unknown_) return {*unknown_};
  std::vector<Pause> out;
  for (const auto& [profile, pause] : pauses_) out.push_back(pause);
  return out;
}

}  // namespace careen::budget
