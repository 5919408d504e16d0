// Drives one of libcurl's multi handles (a connection pool with its transfers) from the loop. Callbacks of curl
// never reach user code: a transfer learns in the loop's own turn that it is finished. Only src/io uses it.
#pragma once

#include <curl/curl.h>

#include <map>
#include <memory>

#include "io/loop.h"

namespace careen::io {

class RealLoop;

class CurlMulti {
 public:
  // A transfer in a multi handle. It leaves when destroyed, which cancels it: an HTTP/2 stream is reset and its
  // connection lives on, an HTTP/1.1 connection is closed.
  class Transfer {
   public:
    explicit Transfer(CURL* easy) : easy_(easy) {}
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;
    CURL* easy() const { return easy_; }
    // Ends it without a word.
    void cancel();
    // Past this point of the loop's time it finishes with CURLE_OPERATION_TIMEDOUT. curl's own total time-out will not
    // do: it counts neither suspend nor the time a request waits for a connection.
    void set_deadline(Steady deadline);

   protected:
    virtual ~Transfer() { cancel(); }
    // The transfer has left the multi handle. Called between curl's calls; must not run user code.
    virtual void finished(CURLcode result) = 0;

   private:
    friend class CurlMulti;
    using Deadlines = std::multimap<Steady, Transfer*>;
    CURL* easy_;
    CurlMulti* multi_ = nullptr;
    Deadlines::iterator deadline_{};
    bool has_deadline_ = false;
  };

  explicit CurlMulti(RealLoop& loop);
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;
  ~CurlMulti();

  void set_option(CURLMoption option, long value);
  void start(Transfer& transfer, Steady deadline);

 private:
  struct Socket;
  static int on_socket(CURL* easy, curl_socket_t fd, int what, void* multi, void* socket);
  static int on_timer(CURLM* handle, long milliseconds, void* multi);
  void act(curl_socket_t fd, int events);
  void curl_time_is_up();
  void expire_due();
  void collect_finished();
  void leave(Transfer& transfer);
  void arm_deadline();

  RealLoop& loop_;
  CURLM* handle_;
  std::map<curl_socket_t, std::shared_ptr<Socket>> sockets_;
  Transfer::Deadlines deadlines_;
  Alarm curl_timer_;
  Alarm deadline_timer_;
};

}  // namespace careen::io
