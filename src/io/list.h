// An intrusive doubly linked list whose nodes leave it when they are destroyed. Everything that waits in
// careen (for a timer, a signal, its turn) is such a node inside a coroutine frame, so destroying the frame
// is all it takes to cancel.
#pragma once

namespace careen::io {

class ListNode {
 public:
  ListNode() = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;
  ~ListNode() { unlink(); }

  bool linked() const { return next_ != this; }
  void unlink() {
    prev_->next_ = next_;
    next_->prev_ = prev_;
    prev_ = next_ = this;
  }

 private:
  template <class T>
  friend class List;
  ListNode* prev_ = this;
  ListNode* next_ = this;
};

template <class T>
class List {
 public:
  bool empty() const { return !head_.linked(); }
  // Appends the node; it leaves the list it was in.
  void push_back(T& node) {
    ListNode& n = node;
    n.unlink();
    n.prev_ = head_.prev_;
    n.next_ = &head_;
    head_.prev_->next_ = &n;
    head_.prev_ = &n;
  }
  T& front() { return static_cast<T&>(*head_.next_); }
  T& pop_front() {
    T& node = front();
    static_cast<ListNode&>(node).unlink();
    return node;
  }
  // Moves all nodes of `other` behind our own.
  void splice(List& other) {
    while (!other.empty()) push_back(other.pop_front());
  }

 private:
  ListNode head_;
};

}  // namespace careen::io
