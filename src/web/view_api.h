// The view API, /careen/v1: what the dashboard and the commands for people read (docs/api.md). The replica that leads
// answers from its own world; every other one passes requests on to it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/http_server.h"
#include "io/loop.h"
#include "web/info.h"
#include "web/leader.h"
#include "web/routes.h"
#include "web/view_guard.h"

namespace careen::web {

// What the replica has to show. Documents are JSON.
struct ViewAnswers {
  std::function<bool()> leading;         // it answers itself
  std::function<std::string()> unknown;  // why there is nothing to show yet; empty when there is
  std::function<Pieces()> fleet;
  std::function<std::unique_ptr<io::BodyStream>()> stream;  // of server-sent events
  // Nothing when there is no such node, or no such object.
  using Story = std::function<std::optional<std::string>(std::string_view name)>;
  Story node;
  struct Objects {
    std::string kind;
    Story story;  // of the node that an object is about
  };
  std::map<std::string, Objects, std::less<>> objects;         // of controllers, by the plural of their kinds
  std::function<std::string(std::string_view node)> timeline;  // of all nodes when it is empty
  std::function<io::Task<std::string>(int hours)> plan;        // may be empty: there is none
  // The same of a workload cluster that is run from here, which whoever still reads from it holds; null: there is no
  // such.
  std::function<std::shared_ptr<const ViewAnswers>(std::string_view cluster)> of_cluster = {};
};

class ViewApi {
 public:
  static constexpr std::string_view kPrefix = "/careen/v1/";
  // More would take connections from those who collect metrics.
  static constexpr int kMostStreams = 64;
  static constexpr int kMostStreamsOfAPeer = 32;

  // `own_authorization`: the header's value with which a replica asks the leader on behalf of clients that have shown
  // no token of their own; may be empty, or give nothing.
  using Authorization = std::function<io::Task<std::string>()>;
  ViewApi(io::Loop& loop, Leader& leader, ViewAnswers answers, ViewGuard guard, Authorization own_authorization = {});
  ViewApi(const ViewApi&) = delete;
  ViewApi& operator=(const ViewApi&) = delete;

  // It must outlive the routes.
  std::vector<Route> routes();
  int streams() const;

 private:
  // With the answers of the cluster that the request is about, which live as long as somebody holds them.
  using Answers = std::shared_ptr<const ViewAnswers>;
  using Answer = std::function<io::Task<io::ServerResponse>(Answers answers, io::ServerRequest request)>;
  // A document below the prefix; where the name is empty or ends with a slash, one for whatever may follow.
  Route document(std::string_view name, Answer own);
  Route stream();
  io::Task<io::ServerResponse> planned(Answers answers, std::string hours);
  io::Task<io::ServerResponse> pass_on(io::ServerRequest request, io::Duration pause_limit);
  io::Task<io::ServerResponse> pass_on_stream(io::ServerRequest request);
  io::ServerHandler unless_crowded(io::ServerHandler handler) const;
  io::ServerResponse counted(io::ServerResponse response, const std::string& peer);
  bool is_crowded(const std::string& peer) const;

  io::Loop& loop_;
  Leader& leader_;
  std::shared_ptr<const ViewAnswers> answers_;
  ViewGuard guard_;
  Authorization own_authorization_;
  using Streams = std::map<std::string, int>;  // of each peer
  std::shared_ptr<Streams> streams_ = std::make_shared<Streams>();
};

}  // namespace careen::web
