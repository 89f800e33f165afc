// SPDX-License-Identifier: Apache-2.0
// Tells ThreadSanitizer what it cannot see in libraries that were built without it: that abseil's
// locks order what they guard (inside gRPC; our own code locks through base/mutex.h), and that a
// gRPC operation starts before it completes. Linked into test executables of that preset only: its
// definitions take the place of the libraries', add the edge and call on. Each edge is one that the
// library promises, so that no race of ours is hidden.
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpcpp/support/server_callback.h>
#include <link.h>
#include <sanitizer/tsan_interface.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

// Anything here that the sanitizer followed would be an edge of its own.
#define SHOAL_UNSEEN __attribute__((no_sanitize("thread")))

namespace {

// The address of a member function that is not virtual, which GCC gives as an extension.
#pragma GCC diagnostic ignored "-Wpmf-conversions"

// The library's function behind `own`, a definition of this file.
template <auto own, typename Function>
SHOAL_UNSEEN Function Next() {
  static void* known = nullptr;
  void* next = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (next == nullptr) {
    Dl_info info{};
    if (dladdr((void*)(own), &info) == 0 || info.dli_sname == nullptr) __builtin_trap();
    next = dlsym(RTLD_NEXT, info.dli_sname);
    if (next == nullptr) __builtin_trap();
    __atomic_store_n(&known, next, __ATOMIC_RELAXED);
  }
  return reinterpret_cast<Function>(next);
}

using Functor = grpc_completion_queue_functor;
using Run = void (*)(Functor*, int);

// Callback operations are named by an object whose first word is the function to call. gRPC's C++
// headers have a handful of such functions; each gets a stand-in that closes the edge first.
constexpr size_t kRunsMax = 8;
std::array<Run, kRunsMax> runs{};

template <size_t index>
SHOAL_UNSEEN void StandIn(Functor* functor, int ok) {
  __tsan_acquire(functor);
  __atomic_load_n(&runs[index], __ATOMIC_RELAXED)(functor, ok);
}

constexpr std::array<Run, kRunsMax> kStandIns = {StandIn<0>, StandIn<1>, StandIn<2>, StandIn<3>,
                                                 StandIn<4>, StandIn<5>, StandIn<6>, StandIn<7>};

SHOAL_UNSEEN int HoldsCode(dl_phdr_info* info, size_t, void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0 && at >= begin &&
        at < begin + header.p_memsz) {
      return 1;
    }
  }
  return 0;
}

// The stand-in for `run`; null when it is none: the first word of another kind of operation's name
// is a table of virtual functions.
SHOAL_UNSEEN Run StandInFor(Run run) {
  for (size_t i = 0; i < kRunsMax; ++i) {
    if (run == kStandIns[i]) return run;
    Run known = __atomic_load_n(&runs[i], __ATOMIC_RELAXED);
    if (known == nullptr) {
      if (dl_iterate_phdr(HoldsCode, reinterpret_cast<void*>(run)) == 0) return nullptr;
      // On failure another thread took the place, perhaps for the same function.
      if (__atomic_compare_exchange_n(&runs[i], &known, run, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
        known = run;
      }
    }
    if (known == run) return kStandIns[i];
  }
  __builtin_trap();  // gRPC has more of them than we know of
}

// Names the private count of the reactions of a served call that have not ended: an explicit
// instantiation may.
template <std::atomic_int grpc::internal::ServerCallbackCall::*member>
struct Outstanding {
  friend void* OutstandingOf(grpc::internal::ServerCallbackCall* call) { return &(call->*member); }
};
template struct Outstanding<&grpc::internal::ServerCallbackCall::callbacks_outstanding_>;
void* OutstandingOf(grpc::internal::ServerCallbackCall* call);

// Runs a cancel reaction and closes its edge, as the library counts it down unseen.
class CancelStandIn final : public grpc::internal::ServerReactor {
 public:
  CancelStandIn(grpc::internal::ServerReactor* reactor, void* outstanding)
      : reactor_(reactor), outstanding_(outstanding) {}
  void OnCancel() override {
    reactor_->OnCancel();
    __tsan_release(outstanding_);
    delete this;  // nothing else is called
  }
  void OnDone() override { __builtin_trap(); }

 private:
  grpc::internal::ServerReactor* const reactor_;
  void* const outstanding_;
};

}  // namespace

extern "C" {

SHOAL_UNSEEN grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t nops,
                                                   void* tag, void* reserved) {
  auto* const functor = static_cast<Functor*>(tag);
  if (Run run = StandInFor(functor->functor_run)) functor->functor_run = run;
  __tsan_release(tag);
  const auto next = Next<&grpc_call_start_batch, decltype(&grpc_call_start_batch)>();
  return next(call, ops, nops, tag, reserved);
}

SHOAL_UNSEEN grpc_event grpc_completion_queue_pluck(grpc_completion_queue* cq, void* tag,
                                                    gpr_timespec deadline, void* reserved) {
  const auto next = Next<&grpc_completion_queue_pluck, decltype(&grpc_completion_queue_pluck)>();
  const grpc_event event = next(cq, tag, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(tag);
  return event;
}

SHOAL_UNSEEN grpc_event grpc_completion_queue_next(grpc_completion_queue* cq, gpr_timespec deadline,
                                                   void* reserved) {
  const auto next = Next<&grpc_completion_queue_next, decltype(&grpc_completion_queue_next)>();
  const grpc_event event = next(cq, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

}  // extern "C"

namespace grpc::internal {

SHOAL_UNSEEN void ServerCallbackCall::CallOnCancel(ServerReactor* reactor) {
  using Function = void (*)(ServerCallbackCall*, ServerReactor*);
  auto* const stand_in = new CancelStandIn(reactor, OutstandingOf(this));
  Next<&ServerCallbackCall::CallOnCancel, Function>()(this, stand_in);
}

// The count fell to zero, perhaps in the library, after all reactions; the others count down in
// headers.
SHOAL_UNSEEN void ServerCallbackCall::ScheduleOnDone(bool inline_ondone) {
  __tsan_acquire(OutstandingOf(this));
  Next<&ServerCallbackCall::ScheduleOnDone, void (*)(ServerCallbackCall*, bool)>()(this,
                                                                                   inline_ondone);
}

}  // namespace grpc::internal

namespace absl {
ABSL_NAMESPACE_BEGIN

SHOAL_UNSEEN void Mutex::Lock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  Next<&Mutex::Lock, void (*)(Mutex*)>()(this);
  __tsan_acquire(this);
}

SHOAL_UNSEEN void Mutex::Unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  __tsan_release(this);
  Next<&Mutex::Unlock, void (*)(Mutex*)>()(this);
}

SHOAL_UNSEEN bool Mutex::TryLock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const bool locked = Next<&Mutex::TryLock, bool (*)(Mutex*)>()(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

SHOAL_UNSEEN void CondVar::Wait(Mutex* mutex) {
  __tsan_release(mutex);
  Next<&CondVar::Wait, void (*)(CondVar*, Mutex*)>()(this, mutex);
  __tsan_acquire(mutex);
}

SHOAL_UNSEEN bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  __tsan_release(mutex);
  const bool timed_out =
      Next<&CondVar::WaitWithTimeout, bool (*)(CondVar*, Mutex*, Duration)>()(this, mutex, timeout);
  __tsan_acquire(mutex);
  return timed_out;
}

SHOAL_UNSEEN bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  __tsan_release(mutex);
  const bool timed_out =
      Next<&CondVar::WaitWithDeadline, bool (*)(CondVar*, Mutex*, Time)>()(this, mutex, deadline);
  __tsan_acquire(mutex);
  return timed_out;
}

ABSL_NAMESPACE_END
}  // namespace absl
