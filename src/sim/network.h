// The way between clients and the model's API server, and what can go wrong on it. Requests outlive the client that
// sent them, as they do on a real network: a process that dies, or sleeps, does not take back what it sent.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/loop.h"
#include "io/sync.h"
#include "kube/transport.h"
#include "sim/api_server.h"

namespace careen::sim {

// A request on its way.
struct Sending {
  const std::string& client;
  const kube::Request& request;
  bool stream = false;
  bool abandoned = false;  // once it has arrived: nobody waits for the answer any more
  // Anything but GET.
  bool writes() const { return request.method != "GET"; }
};

// What happens to it.
struct Treatment {
  io::Duration before{};                   // until it reaches the server
  io::Duration after{};                    // until the answer is back
  io::Duration stale{};                    // answered by a replica this far behind, if the request allows that
  bool lost = false;                       // it never arrives
  bool held = false;                       // it arrives with release_held()
  bool unanswered = false;                 // it takes effect, but no answer comes
  bool cut = false;                        // it takes effect, but the connection breaks instead of an answer
  std::optional<kube::Response> refuse{};  // this is the answer, and it has no effect
  std::optional<kube::Response> mask{};    // it takes effect, but this is the answer
};

class Network {
 public:
  Network(io::Loop& loop, ApiServer& server);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // A client's way to the server, on the client's own loop. The name is for treatments and Change::by. It may be
  // destroyed at any time: what was sent still arrives.
  std::unique_ptr<kube::Transport> connect(io::Loop& client, std::string name);

  // Asked when a request is sent; without it everything goes through at once. It may replace itself.
  std::function<Treatment(const Sending&)> treat;
  // Called right after a request had its effect at the server, before its answer leaves; not for those that were lost
  // or refused on the way.
  std::function<void(const Sending&, const kube::Response&)> served;

  // Lets what was held back arrive now.
  void release_held();
  size_t held() const { return held_.size(); }

  // How streams of a resource ("/api/v1/nodes"; "" for all that have no weather of their own) reach clients.
  struct Weather {
    io::Duration delay{};  // events come this much later
    bool frozen = false;   // nothing comes
  };
  void set_weather(std::string_view collection, Weather weather);
  // Nothing comes out of the streams of one client.
  void set_blind(std::string_view client, bool blind);
  // Ends open streams, as a restart of the server does, or a broken connection (an error instead of an end).
  void end_streams(std::string_view collection = "", bool broken = false);
  size_t open_streams() const;

 private:
  struct Call;
  struct Feed;
  class Connection;
  class FeedStream;

  io::Task<void> serve(std::shared_ptr<Call> call);
  kube::StreamResponse take_effect(Call& call);
  io::Task<void> reply(std::shared_ptr<Call> call, kube::StreamResponse answer);
  io::Task<void> accompany(std::weak_ptr<Feed> feed);
  const Weather& weather(const std::string& collection) const;
  bool frozen(const Feed& feed) const;
  void pump(Feed& feed);
  void pump_all();
  io::Task<void> pump_after(io::Duration delay);

  io::Loop& loop_;
  ApiServer& server_;
  std::map<std::string, Weather, std::less<>> weather_;
  std::set<std::string, std::less<>> blind_;
  std::vector<std::weak_ptr<Feed>> feeds_;
  std::vector<std::shared_ptr<Call>> held_;
  io::Scope scope_;
};

}  // namespace careen::sim
