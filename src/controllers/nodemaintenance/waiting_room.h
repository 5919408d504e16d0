// Places for those who wait for what others have begun. Their number is limited, in all and per peer, so that nobody
// who can reach the port can make more and more of them wait. When all are taken, the one that has waited longest of
// the peer with the most loses its place to a peer that has fewer: many from one address keep nobody else out.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>

namespace careen::nodemaintenance {

class WaitingRoom {
 public:
  WaitingRoom(size_t places, size_t places_for_a_peer) : most_(places), most_for_a_peer_(places_for_a_peer) {}

  // A place until it is destroyed, or lost to another. The room must outlive it.
  class Place {
   public:
    Place(WaitingRoom& room, std::string peer);
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { leave(); }
    bool lost() const { return room_ == nullptr; }

   private:
    friend class WaitingRoom;
    void leave();

    WaitingRoom* room_;  // null: it is lost
    std::string peer_;
    std::list<Place*>::iterator own_;
  };

  // Null: the peer has its share, or there is no place that it could be given.
  std::unique_ptr<Place> enter(const std::string& peer);
  size_t taken() const { return places_.size(); }

 private:
  size_t taken_by(const std::string& peer) const;
  // The longest waiting of the peer with the most places, if that has more than `share`.
  Place* longest_beyond(size_t share) const;

  size_t most_;
  size_t most_for_a_peer_;
  std::list<Place*> places_;  // longest waiting first
};

}  // namespace careen::nodemaintenance
