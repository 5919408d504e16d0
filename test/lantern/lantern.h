// A Lantern: a custom resource that exists for tests only. As long as one exists its node has a label of its color; one
// Lantern a node is lit at a time, and so many nodes in all as a flag allows.
#pragma once

#include <string>
#include <string_view>

#include "controllers/slot/job.h"
#include "kube/resource.h"

namespace careen::kube {
struct Object;
}

namespace careen::lantern {

extern const kube::Resource kResource;                                // lanterns.lanterns.careen.test v1
inline constexpr std::string_view kLit = "lanterns.careen.test/lit";  // label of a node: the color
// Annotation of a node whose light went out: with it a write that lights it, and is still on its way, conflicts.
inline constexpr std::string_view kDimmed = "lanterns.careen.test/dimmed";
inline constexpr std::string_view kLock = "lanterns.careen.test";  // a ConfigMap

enum class Phase { none, waiting, lit };
std::string_view name_of(Phase phase);  // as in the status

struct Lantern {
  std::string name;
  io::Wall created{};
  bool deleting = false;
  std::string node;
  std::string color;
  Phase phase = Phase::none;  // as its status has it
  std::string message;        // the same
};

Lantern parse_lantern(const kube::Object& object);
controllers::Job job_of(const kube::Object& object);

}  // namespace careen::lantern
