#include "controllers/nodemaintenance/waiting_room.h"

#include <algorithm>
#include <utility>

namespace careen::nodemaintenance {

WaitingRoom::Place::Place(WaitingRoom& room, std::string peer)
    : room_(&room), peer_(std::move(peer)), own_(room.places_.insert(room.places_.end(), this)) {}

void WaitingRoom::Place::leave() {
  if (room_ != nullptr) std::exchange(room_, nullptr)->places_.erase(own_);
}

std::unique_ptr<WaitingRoom::Place> WaitingRoom::enter(const std::string& peer) {
  const size_t its = taken_by(peer);
  if (its >= most_for_a_peer_) return nullptr;
  if (places_.size() >= most_) {
    Place* other = longest_beyond(its + 1);
    if (other == nullptr) return nullptr;
    other->leave();
  }
  return std::make_unique<Place>(*this, peer);
}

size_t WaitingRoom::taken_by(const std::string& peer) const {
  return static_cast<size_t>(
      std::count_if(places_.begin(), places_.end(), [&](const Place* one) { return one->peer_ == peer; }));
}

WaitingRoom::Place* WaitingRoom::longest_beyond(size_t share) const {
  Place* found = nullptr;
  size_t most = share;
  for (Place* one : places_) {
    const size_t its = taken_by(one->peer_);
    if (its <= most) continue;
    most = its;
    found = one;
  }
  return found;
}

}  // namespace careen::nodemaintenance
