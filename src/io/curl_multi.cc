#include "io/curl_multi.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdio>
#include <cstdlib>

#include "io/real_loop.h"

namespace careen::io {

namespace {

void must(CURLMcode code, const char* what) {
  if (code == CURLM_OK) return;
  std::fprintf(stderr, "careen: bug: %s: %s\n", what, curl_multi_strerror(code));
  std::abort();
}

}  // namespace

// A descriptor that belongs to curl, and what curl waits for on it. Asio's handlers share it, so that they find
// out when curl is done with the descriptor.
struct CurlMulti::Socket : std::enable_shared_from_this<Socket> {
  using Descriptor = boost::asio::posix::stream_descriptor;

  Socket(CurlMulti& owner, boost::asio::io_context& context, curl_socket_t fd)
      : multi(&owner), descriptor(context, fd), number(fd) {}

  void want(int what) {
    wanted = what;
    if (wanted & CURL_POLL_IN) wait(Descriptor::wait_read, CURL_POLL_IN, CURL_CSELECT_IN);
    if (wanted & CURL_POLL_OUT) wait(Descriptor::wait_write, CURL_POLL_OUT, CURL_CSELECT_OUT);
  }

  void give_back() {
    multi = nullptr;
    descriptor.release();
  }

  void wait(Descriptor::wait_type type, int direction, int event) {
    if (waiting & direction) return;
    waiting |= direction;
    descriptor.async_wait(type, [self = shared_from_this(), direction, event](const boost::system::error_code& error) {
      self->waiting &= ~direction;
      if (self->multi == nullptr || error == boost::asio::error::operation_aborted) return;
      if (self->wanted & direction) self->multi->act(self->number, error ? CURL_CSELECT_ERR : event);
      if (self->multi != nullptr) self->want(self->wanted);
    });
  }

  CurlMulti* multi;
  Descriptor descriptor;
  curl_socket_t number;
  int wanted = 0;
  int waiting = 0;
};

CurlMulti::CurlMulti(RealLoop& loop)
    : loop_(loop),
      handle_(curl_multi_init()),
      curl_timer_(loop, [this] { curl_time_is_up(); }),
      deadline_timer_(loop, [this] { expire_due(); }) {
  if (handle_ == nullptr) must(CURLM_OUT_OF_MEMORY, "curl_multi_init");
  curl_multi_setopt(handle_, CURLMOPT_SOCKETFUNCTION, &CurlMulti::on_socket);
  curl_multi_setopt(handle_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(handle_, CURLMOPT_TIMERFUNCTION, &CurlMulti::on_timer);
  curl_multi_setopt(handle_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(handle_, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
}

CurlMulti::~CurlMulti() {
  // Closes the idle connections; on_socket gives their descriptors back.
  curl_multi_cleanup(handle_);
  for (auto& [fd, socket] : sockets_) socket->give_back();
}

void CurlMulti::set_option(CURLMoption option, long value) {
  must(curl_multi_setopt(handle_, option, value), "curl_multi_setopt");
}

void CurlMulti::start(Transfer& transfer, Steady deadline) {
  curl_easy_setopt(transfer.easy_, CURLOPT_PRIVATE, &transfer);
  transfer.multi_ = this;
  transfer.set_deadline(deadline);
  must(curl_multi_add_handle(handle_, transfer.easy_), "curl_multi_add_handle");
}

void CurlMulti::Transfer::cancel() {
  if (multi_ != nullptr) multi_->leave(*this);
}

void CurlMulti::Transfer::set_deadline(Steady deadline) {
  if (multi_ == nullptr) return;
  if (has_deadline_) multi_->deadlines_.erase(deadline_);
  has_deadline_ = deadline != kNever;
  if (has_deadline_) deadline_ = multi_->deadlines_.emplace(deadline, this);
  multi_->arm_deadline();
}

void CurlMulti::leave(Transfer& transfer) {
  transfer.set_deadline(kNever);
  transfer.multi_ = nullptr;
  must(curl_multi_remove_handle(handle_, transfer.easy_), "curl_multi_remove_handle");
}

void CurlMulti::arm_deadline() {
  if (deadlines_.empty()) {
    deadline_timer_.cancel();
  } else {
    deadline_timer_.set(deadlines_.begin()->first);
  }
}

void CurlMulti::expire_due() {
  const Steady now = loop_.now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Transfer& transfer = *deadlines_.begin()->second;
    leave(transfer);
    transfer.finished(CURLE_OPERATION_TIMEDOUT);
  }
  arm_deadline();
}

int CurlMulti::on_socket(CURL*, curl_socket_t fd, int what, void* multi, void*) {
  auto& self = *static_cast<CurlMulti*>(multi);
  const auto known = self.sockets_.find(fd);
  if (what == CURL_POLL_REMOVE) {
    if (known == self.sockets_.end()) return 0;
    known->second->give_back();
    self.sockets_.erase(known);
    return 0;
  }
  if (known != self.sockets_.end()) {
    known->second->want(what);
    return 0;
  }
  auto socket = std::make_shared<Socket>(self, self.loop_.asio(), fd);
  self.sockets_.emplace(fd, socket);
  socket->want(what);
  return 0;
}

int CurlMulti::on_timer(CURLM*, long milliseconds_left, void* multi) {
  auto& self = *static_cast<CurlMulti*>(multi);
  if (milliseconds_left < 0) {
    self.curl_timer_.cancel();
    self.curl_timer_.unlink();
  } else {
    self.curl_timer_.set(self.loop_.now() + milliseconds{milliseconds_left});
  }
  return 0;
}

void CurlMulti::act(curl_socket_t fd, int events) {
  // A machine that wakes from suspend finds its sockets ready before its timers: nothing may be sent then that is
  // past its time.
  expire_due();
  int running = 0;
  must(curl_multi_socket_action(handle_, fd, events, &running), "curl_multi_socket_action");
  collect_finished();
}

void CurlMulti::curl_time_is_up() {
  act(CURL_SOCKET_TIMEOUT, 0);
  if (curl_timer_.pending()) return;
  // Our clock counts suspend and curl's does not, so we may have been early. curl then thinks that its timer is still
  // set and does not set it again.
  long left = -1;
  curl_multi_timeout(handle_, &left);
  if (left >= 0) curl_timer_.set(loop_.now() + milliseconds{left + 1});
}

void CurlMulti::collect_finished() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(handle_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode result = message->data.result;
    Transfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    leave(*transfer);
    transfer->finished(result);
  }
}

}  // namespace careen::io
