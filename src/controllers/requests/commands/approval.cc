#include "controllers/requests/commands/approval.h"

#include <fmt/format.h>

#include <utility>

#include "cli/redraw.h"
#include "cli/terminal_table.h"
#include "cli/text_wrap.h"
#include "controllers/requests/names.h"
#include "session/kube_session.h"
#include "session/object_watch.h"

namespace careen::requests {

using app::Colour;
using app::Line;
using io::Task;

namespace {

// A careen that is there has said something long before; the program that it replaces never says anything, but approves
// within two minutes if there is a place.
constexpr io::Duration kNobodyThere = io::seconds{15};

// The phase, where there is one, says more.
std::string_view state_of(const OwnRequest& request) {
  return request.status.phase == Phase::none ? name_of(request.state) : name_of(request.status.phase);
}

class Follower {
 public:
  Follower(app::KubeSession& session, OwnRequest request, Tell tell)
      : session_(session),
        request_(std::move(request)),
        tell_(tell),
        changed_(session.loop),
        watch_(session, kube::ReflectorOptions::of_one(kResource, "", request_.name), changed_),
        begun_(session.loop.now()) {}

  Task<Approval> main(io::Duration limit) {
    session_.heeds_interrupt = true;
    const bool in_time = co_await app::ends_within(session_.loop, limit, answered_or_interrupted());
    session_.screen.redraw({});
    if (session_.interrupted.is_open()) end_ = Approval::End::interrupted;
    co_return Approval{in_time && end_ ? *end_ : Approval::End::timed_out, request_};
  }

 private:
  Task<void> answered_or_interrupted() {
    co_await io::race(session_.loop, follow(), io::wait_for(session_.interrupted));
  }

  Task<void> follow() {
    co_await watch_.known().wait();
    while (true) {
      look();
      if (end_) co_return;
      show();
      co_await app::heard_within(session_.loop, app::kRedrawEvery, changed_);
    }
  }

  void look() {
    const kube::Object* object = watch_.store().find(request_.name);
    if (!object || object->uid != request_.uid) {
      end_ = Approval::End::gone;
      return;
    }
    request_ = own_request(*object);
    if (request_.is(State::approved)) end_ = Approval::End::approved;
    if (request_.is(State::in_progress)) end_ = Approval::End::in_progress;
    if (request_.is(State::completed)) end_ = Approval::End::completed;
    if (request_.is(State::rejected)) end_ = Approval::End::rejected;
  }

  void show() {
    if (tell_ == Tell::nothing) return;
    const std::string why = waits_for(request_);
    const bool is_taken_up = request_.status.phase != Phase::none || !request_.status.message.empty();
    if (session_.screen.live()) {
      redraw(why);
    } else if (is_taken_up && std::exchange(told_, why) != why) {
      say(fmt::format("node/{}: {}", request_.node, why));
    }
    if (!is_taken_up && session_.loop.now() - begun_ >= kNobodyThere) warn();
  }

  void say(const Line& text) {
    if (tell_ == Tell::output) {
      session_.screen.line(text);
    } else {
      session_.screen.note(text);
    }
  }

  void redraw(const std::string& why) {
    const size_t columns = session_.screen.size().width, width = columns > 1 ? columns - 1 : 1;
    const std::string head =
        fmt::format("{}  {}  {}", request_.node, state_of(request_), app::age_text(session_.now() - request_.created));
    std::vector<Line> lines = {session_.screen.paint(Colour::bold, app::fit(head, width))};
    for (const std::string& line : app::wrap(why, width > 4 ? width - 2 : 2)) {
      if (lines.size() + 1 >= session_.screen.size().height) break;
      lines.push_back(session_.screen.paint(Colour::dim, app::fit("  " + line, width)));
    }
    session_.screen.redraw(std::move(lines));
  }

  void warn() {
    if (std::exchange(warned_, true)) return;
    session_.screen.warning(
        "nobody has said anything about it yet: does \"careen run --controllers requests\", or repairman, run here?");
  }

  app::KubeSession& session_;
  OwnRequest request_;
  Tell tell_;
  io::Signal changed_;
  app::ObjectWatch watch_;
  io::Steady begun_;
  std::optional<Approval::End> end_;
  std::string told_;
  bool warned_ = false;
};

}  // namespace

std::string waits_for(const OwnRequest& request) {
  const std::string state(state_of(request));
  if (request.status.message.empty()) return state;
  const bool says_more = request.status.phase > Phase::waiting && request.status.phase < Phase::approved;
  return says_more ? state + ": " + request.status.message : request.status.message;
}

Task<Approval> wait_for_approval(app::KubeSession& session, OwnRequest request, io::Duration limit, Tell tell) {
  Follower follower(session, std::move(request), tell);
  co_return co_await follower.main(limit);
}

}  // namespace careen::requests
