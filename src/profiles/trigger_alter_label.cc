#include "profiles/trigger_alter_key.h"

namespace careen::profiles {

std::unique_ptr<Trigger> make_alter_label(ConfigReader& config) {
  return std::make_unique<AlterKey<&NodeDraft::set_label, &NodeDraft::remove_label>>("alterLabel", config);
}

}  // namespace careen::profiles
