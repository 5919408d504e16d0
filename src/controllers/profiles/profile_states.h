// What nodes say of themselves in labels and annotations of profiles, for limits: who is in maintenance, since when,
// and for which profiles. A subset of nodes is a profile that their label names.
#pragma once

#include <optional>
#include <string_view>

#include "budget/admission.h"
#include "budget/node_reader.h"
#include "controllers/profiles/drains.h"

namespace careen::profiles {

struct Config;

// A profile has let the node go on: others keep their own admissions.
bool is_of_profile(const budget::Admission& admission);

class ProfileStates final : public budget::NodeReader {
 public:
  // Only profiles of this configuration count. It must live until there is another.
  void set_config(const Config& config) { config_ = &config; }

  std::optional<InState> state_of(const kube::Node& node) const override;
  std::string key_of(std::string_view uid) const override { return budget::claim_key(kHoldPrefix, uid); }
  bool counts(const budget::Admission& admission) const override {
    return admission.counts && is_of_profile(admission);
  }
  bool belongs(const kube::Node& node, std::string_view subset) const override;

 private:
  const Config* config_ = nullptr;
};

}  // namespace careen::profiles
