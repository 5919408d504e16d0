// A controller that joins campaigns besides profiles and NodeMaintenances: each process hosts it, and it brings what
// must hold of what it does. What people do with its objects are edits of the campaign.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"
#include "kube/json.h"
#include "sim/api_server.h"

namespace careen::controllers {
class Choice;
struct Kind;
}  // namespace careen::controllers

namespace careen::explore {

using Report = std::function<void(std::string rule, std::string what)>;

struct Circumstances {
  bool by_careen = false;
  bool exact = false;          // so far nobody has lost what only the ledger knows, so limits hold
  bool informed = false;       // careen has heard of what others have done, but for the last few seconds
  io::Duration leads_since{};  // whoever has the lock now has had it since then
};

// What becomes of an eviction that somebody asks the API server for.
enum class Passage {
  unasked,  // it passes, since careen has not registered its webhook
  lost,     // it passes, since careen does not answer
  open,     // it passes, since nobody has decided for a minute
  allowed,
  refused,
};
std::string_view name_of(Passage passage);
struct Evicted {
  std::string node, user;
  Passage passage;
};

class GuestWatch {
 public:
  virtual ~GuestWatch() = default;
  // Each change of a node, of a pod, of the ledger and of the controller's own objects.
  virtual void changed(const sim::Change& change, const Circumstances& circumstances) = 0;
  virtual void evicted(const Evicted&, const Circumstances&) {}
  // Careen has come to rest.
  virtual void check_end() = 0;
};

// What others in the world can do, who answer what careen does. Not at once: whoever is told of a change must not make
// another.
struct Hands {
  std::function<void(io::Duration after, std::function<void()> act)> later;
  std::function<sim::Text(std::string_view path)> read;
  std::function<void(const std::string& path, const kube::Json& patch)> merge;  // into an object that is there
  std::function<void(const std::string& path, const kube::Json& object)> put;
  // Of a pod in the default namespace. `tell`: whether it is gone.
  struct Eviction {
    std::string pod, node, user;
    std::function<void(bool)> tell;
  };
  std::function<void(Eviction)> evict;
  std::function<void(std::string_view node, bool cordoned)> cordon;
};

class GuestActors {
 public:
  virtual ~GuestActors() = default;
  virtual void changed(const sim::Change& change) = 0;
  virtual bool busy() const { return false; }
};

class Guest {
 public:
  virtual ~Guest() = default;
  virtual std::shared_ptr<const controllers::Choice> choice() const = 0;
  // Careen writes objects of that collection for it, besides those of its kind; its watch is told of them.
  virtual bool writes(std::string_view) const { return false; }
  virtual std::unique_ptr<GuestActors> actors(Hands) const { return nullptr; }
  // Of kinds that the cluster has besides its own.
  virtual std::vector<kube::Json> definitions() const { return {}; }
  // Such labels and annotations of nodes are its own to write.
  virtual bool owns(std::string_view key) const = 0;
  // Of an admission: it lasts for as long as its object wants it.
  virtual bool claims(std::string_view by) const = 0;
  // `now`: since the beginning.
  virtual std::unique_ptr<GuestWatch> watch(Report report, std::function<io::Duration()> now) const = 0;
};

// The controller whose objects the path is about; null: that of none.
const controllers::Kind* kind_at(std::string_view path);

}  // namespace careen::explore
