// What is known of a controller before there is one: its name, its lock, its kind of object, and how it is made. The
// list of all of them is replica/controllers.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/slot/job.h"
#include "kube/lock_kind.h"
#include "kube/resource.h"
#include "web/routes.h"

namespace CLI {
class App;
}

namespace careen::kube {
class Json;
struct NodePreference;
struct Object;
}  // namespace careen::kube

namespace careen::web {
struct WebhookParts;
}

namespace careen::controllers {

class Controller;
struct Host;
struct Kind;

// A controller with its options, as it was asked for: makes one for each replica.
class Choice {
 public:
  virtual ~Choice() = default;
  virtual const Kind& kind() const = 0;
  virtual std::unique_ptr<Controller> make(Host host) const = 0;
  // What it answers when the API server asks; on every replica, whether it leads or not.
  virtual std::vector<web::Route> webhooks(const web::WebhookParts& parts) const = 0;
};

// The program that a controller replaces.
struct Original {
  std::string_view pod_label = {};  // that its pods have; empty: it is not told by one
  // Where its image has it under a name by which careen knows it (commands/manager_start.h): what it does without any
  // flags, as flags of careen.
  std::vector<std::string_view> usual_flags = {};
};

struct Kind {
  std::string_view name;                             // as in --controllers, and before the slash: name/object
  std::string_view short_name = {};                  // of its objects, for people who type
  std::string_view lock;                             // the object that its leader holds
  kube::LockKind lock_kind = kube::LockKind::lease;  // a ConfigMap where the program that it replaces has one
  std::string_view event_source;                     // of the events it writes, and of its log: controllers.<source>
  std::string_view section = {};                     // of its objects in documents
  bool nodes = true;                                 // it is about nodes of the cluster that it runs in
  // What Controller::document_of() tells of, as in explain and in paths: the plural of a kind that is not its own.
  std::string_view explained = {};
  kube::Resource object = {};                     // its own custom resource, cluster-scoped; profiles have none
  std::vector<std::string_view> namespaces = {};  // that it works in besides careen's own
  bool claims = false;                            // it admits against a limit: it leads only with the ledger
  std::string_view owner_prefix = {};             // of whom it admits, in the ledger and in holds on nodes
  bool approves_others = false;                   // whom it admits is not careen: without limits it admits nobody
  // The CustomResourceDefinitions that are installed with careen; the first is that of `object`.
  std::vector<kube::Json> (*definitions)() = nullptr;
  Job (*job_of)(const kube::Object& object) = nullptr;
  kube::NodePreference (*marked_pods)() = nullptr;  // those that the cache of pods has to mark, for who counts them
  // What people can do to have such an object let go of its node; null: it lets go when it is done.
  std::string (*way_out)(std::string_view node) = nullptr;
  Original original = {};
  // With the options that it has when nobody says otherwise.
  std::shared_ptr<const Choice> (*usual)();
  // With the options that the flags give it, which join those of `careen run`: it is right once they have been parsed.
  std::shared_ptr<const Choice> (*with_flags)(CLI::App& command);

  bool has_objects() const { return !object.plural.empty(); }
  // One of its objects as who has a place or a hold.
  std::string owner_of(std::string_view one) const {
    return (owner_prefix.empty() ? std::string(name) + '/' : std::string(owner_prefix)) + std::string(one);
  }
};

}  // namespace careen::controllers
