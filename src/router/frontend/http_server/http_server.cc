// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/http_server/http_server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/mutex.h"

namespace shoal::router {
namespace {

constexpr uint64_t kListenerId = 0;
constexpr uint64_t kWakeId = 1;
constexpr int kTickMs = 100;
constexpr int kBacklog = 1024;
constexpr int kAcceptsPerWake = 64;
constexpr absl::Duration kFullLogPause = absl::Seconds(10);

absl::StatusOr<int> Listen(const HttpServerOptions& options) {
  const std::string& host = options.host;
  const int32_t port = options.port;
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string service = absl::StrCat(port);
  const int code =
      getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &found);
  if (code != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("router.http: cannot resolve \"", host, "\": ", gai_strerror(code)));
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int one = 1;
  bool ok = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0;
  // Accepted sockets inherit it.
  ok = ok && setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &options.send_buffer_bytes,
                        sizeof(options.send_buffer_bytes)) == 0;
  ok = ok && bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, kBacklog) == 0;
  const int error = errno;
  freeaddrinfo(found);
  if (ok) return fd;
  if (fd >= 0) close(fd);
  return absl::UnavailableError(
      absl::StrCat("router.http: cannot listen on ", host, ":", port, ": ", strerror(error)));
}

int32_t PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

class Server final : public HttpServer {
 public:
  Server(const HttpServerOptions& options, HttpHandler* handler, int listener, int epoll, int wake)
      : options_(options),
        handler_(handler),
        listener_(listener),
        epoll_(epoll),
        wake_(wake),
        port_(PortOf(listener)),
        outbox_(std::make_shared<Outbox>(wake)) {
    Control(EPOLL_CTL_ADD, listener_, EPOLLIN, kListenerId);
    Control(EPOLL_CTL_ADD, wake_, EPOLLIN, kWakeId);
    thread_ = std::thread([this] { Run(); });
  }

  ~Server() override {
    Stop(absl::ZeroDuration());
    close(epoll_);
    close(wake_);
  }

  int32_t port() const override { return port_; }
  int64_t last_turn_ns() const override { return last_turn_ns_.load(); }

  void Stop(absl::Duration grace) override {
    MutexLock lock(&stop_mutex_);
    if (!thread_.joinable()) return;
    stop_at_ns_.store(absl::ToUnixNanos(absl::Now() + grace));
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
    thread_.join();
  }

 private:
  struct Entry {
    std::unique_ptr<Connection> connection;
    uint32_t events = 0;
  };

  void Control(int operation, int fd, uint32_t events, uint64_t id) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = id;
    if (epoll_ctl(epoll_, operation, fd, &event) != 0) {
      log::Error("epoll_ctl: {}", strerror(errno));
    }
  }

  void Run() {
    while (true) {
      std::array<epoll_event, 256> events;
      const int count = epoll_wait(epoll_, events.data(), events.size(), kTickMs);
      const absl::Time now = absl::Now();
      last_turn_ns_.store(absl::ToUnixNanos(now));
      for (int i = 0; i < count; ++i) OnEvent(events[static_cast<size_t>(i)], now);
      for (OutboxCommand& command : outbox_->Take()) OnCommand(std::move(command), now);
      if (now >= next_tick_) Tick(now);
      if (Done(now)) break;
    }
    outbox_->Close();
    connections_.clear();
    if (listener_ >= 0) close(listener_);
  }

  void OnEvent(const epoll_event& event, absl::Time now) {
    if (event.data.u64 == kListenerId) {
      Accept(now);
      return;
    }
    if (event.data.u64 == kWakeId) {
      uint64_t count;
      [[maybe_unused]] const ssize_t got = read(wake_, &count, sizeof(count));
      return;
    }
    const auto it = connections_.find(event.data.u64);
    if (it == connections_.end()) return;
    Connection& connection = *it->second.connection;
    bool alive = (event.events & EPOLLERR) == 0;
    // A hang-up of both directions ends it even while reading is paused.
    if ((event.events & EPOLLHUP) != 0) alive = false;
    if (alive && (event.events & EPOLLRDHUP) != 0 && connection.watches_hangup()) {
      alive = connection.OnHangup(now);
    }
    if (alive && (event.events & EPOLLIN) != 0) alive = connection.OnReadable(now);
    if (alive && (event.events & EPOLLOUT) != 0) alive = connection.OnWritable(now);
    Settle(it, alive);
  }

  void OnCommand(OutboxCommand command, absl::Time now) {
    const auto it = connections_.find(command.connection);
    if (it == connections_.end()) return;
    Settle(it, it->second.connection->OnCommand(std::move(command), now));
  }

  // Destroys what is over, and tells epoll what the rest waits for.
  void Settle(std::map<uint64_t, Entry>::iterator it, bool alive) {
    Entry& entry = it->second;
    if (!alive) {
      connections_.erase(it);
      return;
    }
    const uint32_t events = Interest(*entry.connection);
    if (events == entry.events) return;
    entry.events = events;
    Control(EPOLL_CTL_MOD, entry.connection->fd(), events, it->first);
  }

  static uint32_t Interest(const Connection& connection) {
    uint32_t events = 0;
    if (connection.wants_read()) events |= EPOLLIN;
    if (connection.wants_write()) events |= EPOLLOUT;
    if (connection.watches_hangup()) events |= EPOLLRDHUP;
    return events;
  }

  void Accept(absl::Time now) {
    for (int i = 0; i < kAcceptsPerWake; ++i) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
          PauseAccepting(errno, now);
        }
        return;
      }
      if (connections_.size() >= options_.connections_max && !EvictWaiting()) {
        close(fd);
        continue;
      }
      const int one = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
      const uint64_t id = next_id_++;
      Entry entry;
      entry.connection = std::make_unique<Connection>(fd, id, options_.connection, handler_,
                                                      outbox_, &budget_, now);
      entry.events = EPOLLIN;
      Control(EPOLL_CTL_ADD, fd, entry.events, id);
      connections_.emplace(id, std::move(entry));
    }
  }

  // Nobody is owed an answer there; so one client's open connections do not keep others out.
  bool EvictWaiting() {
    auto longest = connections_.end();
    absl::Time since = absl::InfiniteFuture();
    for (auto it = connections_.begin(); it != connections_.end(); ++it) {
      if (it->second.connection->waiting_since() >= since) continue;
      since = it->second.connection->waiting_since();
      longest = it;
    }
    if (longest == connections_.end()) return false;
    connections_.erase(longest);
    return true;
  }

  // A waiting client would wake the loop again at once, and nothing has been freed yet.
  void PauseAccepting(int error, absl::Time now) {
    Control(EPOLL_CTL_MOD, listener_, 0, kListenerId);
    accepting_ = false;
    if (now < next_full_log_) return;
    next_full_log_ = now + kFullLogPause;
    log::Warning("router.http: clients wait, no connection can be accepted: {}; {} are open",
                 strerror(error), connections_.size());
  }

  void Tick(absl::Time now) {
    next_tick_ = now + absl::Milliseconds(kTickMs);
    if (!accepting_ && listener_ >= 0) {
      accepting_ = true;
      Control(EPOLL_CTL_MOD, listener_, EPOLLIN, kListenerId);
    }
    for (auto it = connections_.begin(); it != connections_.end();) {
      const auto current = it++;
      Settle(current, current->second.connection->OnTick(now));
    }
  }

  bool Done(absl::Time now) {
    const int64_t stop_at = stop_at_ns_.load();
    if (stop_at == 0) return false;
    if (listener_ >= 0) {
      close(listener_);
      listener_ = -1;
    }
    if (now >= absl::FromUnixNanos(stop_at)) return true;
    for (const auto& [id, entry] : connections_) {
      if (entry.connection->busy()) return false;
    }
    return true;
  }

  const HttpServerOptions options_;
  HttpHandler* const handler_;
  int listener_;
  const int epoll_;
  const int wake_;
  const int32_t port_;
  const std::shared_ptr<Outbox> outbox_;
  std::atomic<int64_t> stop_at_ns_{0};
  std::atomic<int64_t> last_turn_ns_{0};
  Mutex stop_mutex_;
  // The server thread's own.
  std::map<uint64_t, Entry> connections_;
  BodyBudget budget_;
  uint64_t next_id_ = 2;
  absl::Time next_tick_ = absl::InfinitePast();
  absl::Time next_full_log_ = absl::InfinitePast();
  bool accepting_ = true;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> StartHttpServer(const HttpServerOptions& options,
                                                            HttpHandler* handler) {
  auto listener = Listen(options);
  if (!listener.ok()) return listener.status();
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  const int wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (epoll < 0 || wake < 0) {
    close(*listener);
    if (epoll >= 0) close(epoll);
    if (wake >= 0) close(wake);
    return absl::ResourceExhaustedError("router.http: no file descriptors left");
  }
  return std::make_unique<Server>(options, handler, *listener, epoll, wake);
}

}  // namespace shoal::router
