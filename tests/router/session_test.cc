// SPDX-License-Identifier: Apache-2.0
#include "router/session/session.h"

#include <gtest/gtest.h>

#include "router/api_error.h"
#include "router/fake_text.h"

namespace shoal::router {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1000);

RequestSpec Spec(int32_t n = 1) {
  RequestSpec spec;
  spec.model = "tiny";
  spec.prompts = {Bytes("prompt")};
  spec.n = n;
  spec.max_tokens = 100;
  spec.eos_token_ids = {kEos};
  return spec;
}

std::unique_ptr<Session> Make(RequestSpec spec, RetryLimits limits = {}) {
  return std::make_unique<Session>(std::move(spec), std::make_shared<FakeTokenizer>(), limits);
}

SequenceDeltaValue Delta(const std::vector<int32_t>& tokens,
                         WireFinish finish = WireFinish::kNone) {
  SequenceDeltaValue delta;
  for (const int32_t token : tokens) {
    scheduler::TokenOutput output;
    output.token = token;
    delta.tokens.push_back(output);
  }
  delta.finish = finish;
  return delta;
}

SequenceDeltaValue Failure(absl::StatusCode code, bool rejected) {
  SequenceDeltaValue delta = Delta({}, WireFinish::kError);
  delta.error = absl::Status(code, "why");
  delta.rejected = rejected;
  return delta;
}

SubmitValue SubmitTo(Session& session, int32_t sequence, size_t replica,
                     const std::string& fingerprint = "fp") {
  return session.Submit(sequence, {replica, 1}, fingerprint, kNow);
}

TEST(Session, StreamsTextAndEndsOnceWithUsage) {
  auto session = Make(Spec());
  EXPECT_EQ(session->Start().routes, (std::vector<int32_t>{0}));
  const SubmitValue submit = SubmitTo(*session, 0, 0);
  EXPECT_EQ(submit.tokens, Bytes("prompt"));
  EXPECT_EQ(submit.prompt_tokens, 6);
  EXPECT_EQ(submit.stop_token_ids, (std::vector<int32_t>{kEos}));
  Actions actions = session->OnDelta(0, Delta(Bytes("ab")), kNow);
  ASSERT_EQ(actions.events.size(), 1u);
  EXPECT_EQ(actions.events[0].text, "ab");
  EXPECT_FALSE(actions.end.has_value());
  actions = session->OnDelta(0, Delta({kEos}, WireFinish::kStop), kNow);
  EXPECT_EQ(actions.events.at(0).finish, ChoiceFinish::kStop);
  EXPECT_TRUE(actions.events.at(0).last_token_hidden);
  EXPECT_EQ(actions.events.at(0).text, "");
  ASSERT_TRUE(actions.end.has_value());
  EXPECT_TRUE(actions.end->status.ok());
  EXPECT_EQ(actions.end->usage.prompt_tokens, 6);
  EXPECT_EQ(actions.end->usage.completion_tokens, 3);
  EXPECT_EQ(actions.end->fingerprint, "fp");
  EXPECT_FALSE(session->Fail(absl::CancelledError("late")).end.has_value());
}

TEST(Session, FindsAStopStringOverTokenBordersAndDropsTheOverrun) {
  RequestSpec spec = Spec();
  spec.stop_strings = {"gamma del"};
  auto session = Make(spec);
  SubmitTo(*session, 0, 0);
  std::string text;
  for (const char* piece : {"alpha beta ga", "mma", " "}) {
    for (const auto& event : session->OnDelta(0, Delta(Bytes(piece)), kNow).events) {
      text += event.text;
      EXPECT_FALSE(event.finish.has_value());
    }
  }
  EXPECT_EQ(text, "alpha beta ");
  const Actions actions = session->OnDelta(0, Delta(Bytes("delta")), kNow);
  EXPECT_EQ(actions.events.at(0).text, "");
  EXPECT_EQ(actions.events.at(0).finish, ChoiceFinish::kStop);
  EXPECT_EQ(actions.overrun_tokens, 2);
  ASSERT_EQ(actions.cancels.size(), 1u);  // the worker does not know
  EXPECT_EQ(actions.end->usage.completion_tokens, 20);
}

TEST(Session, GivesWhatWasHeldBackForAStopStringThatNeverCame) {
  RequestSpec spec = Spec();
  spec.stop_strings = {"gamma"};
  auto session = Make(spec);
  SubmitTo(*session, 0, 0);
  EXPECT_EQ(session->OnDelta(0, Delta(Bytes("x gam")), kNow).events.at(0).text, "x ");
  const Actions actions = session->OnDelta(0, Delta({kEos}, WireFinish::kStop), kNow);
  EXPECT_EQ(actions.events.at(0).text, "gam");
  EXPECT_EQ(actions.events.at(0).finish, ChoiceFinish::kStop);
}

TEST(Session, CutsInsideTheTokenThatCompletesAStopString) {
  RequestSpec spec = Spec();
  spec.stop_strings = {"mm"};
  auto session = Make(spec);
  SubmitTo(*session, 0, 0);
  const Actions actions = session->OnDelta(0, Delta({kComma}), kNow);
  EXPECT_EQ(actions.events.at(0).text, " co");
  EXPECT_EQ(actions.end->usage.completion_tokens, 1);
}

TEST(Session, KeepsTheStopStringWhenAsked) {
  RequestSpec spec = Spec();
  spec.stop_strings = {"mm"};
  spec.include_stop = true;
  auto session = Make(spec);
  SubmitTo(*session, 0, 0);
  EXPECT_EQ(session->OnDelta(0, Delta({kComma}), kNow).events.at(0).text, " comm");
}

TEST(Session, LooksForStopStringsOnlyAfterTheLeastNumberOfTokens) {
  RequestSpec spec = Spec();
  spec.stop_strings = {"ab"};
  spec.sampling.min_tokens = 4;
  auto session = Make(spec);
  session->Start();
  SubmitTo(*session, 0, 0);
  Actions actions = session->OnDelta(0, Delta(Bytes("ababxab")), kNow);
  ASSERT_EQ(actions.events.size(), 1u);
  EXPECT_EQ(actions.events[0].text, "ababx");
  EXPECT_EQ(actions.events[0].finish, ChoiceFinish::kStop);
}

TEST(Session, NeverSplitsACharacter) {
  auto session = Make(Spec());
  SubmitTo(*session, 0, 0);
  std::string text;
  for (const int32_t token : Bytes("ž漢🙂")) {
    for (const auto& event : session->OnDelta(0, Delta({token}), kNow).events) {
      text += event.text;
      EXPECT_EQ(event.text.find("\xEF\xBF\xBD"), std::string::npos);
    }
  }
  EXPECT_EQ(text, "ž漢🙂");
}

TEST(Session, ResumesAfterTheJournalOnAnotherReplica) {
  auto session = Make(Spec());
  SubmitTo(*session, 0, 0);
  session->OnDelta(0, Delta(Bytes("ab")), kNow);
  Actions actions = session->OnReplicaLost(0, absl::UnavailableError("died"), kNow);
  EXPECT_EQ(actions.routes, (std::vector<int32_t>{0}));
  EXPECT_EQ(actions.retries, 1);
  EXPECT_FALSE(actions.end.has_value());
  const RouteRequest route = session->RouteFor(0);
  EXPECT_EQ(route.excluded, (std::vector<Exclusion>{{0, 1}}));
  EXPECT_EQ(route.fingerprint, "fp");
  EXPECT_EQ(route.tokens, 8);
  const SubmitValue again = SubmitTo(*session, 0, 1);
  EXPECT_EQ(again.tokens, Bytes("promptab"));
  EXPECT_EQ(again.prompt_tokens, 6);
  EXPECT_EQ(again.attempt, 2u);
  EXPECT_EQ(again.max_tokens, 100);
  actions = session->OnDelta(0, Delta(Bytes("c"), WireFinish::kLength), kNow);
  EXPECT_EQ(actions.events.at(0).text, "c");
  EXPECT_EQ(actions.end->usage.completion_tokens, 3);
}

TEST(Session, InsistsOnTheProfileOnlyForExactFailoverWithTokens) {
  auto session = Make(Spec(), {.exact = true});
  SubmitTo(*session, 0, 0);
  session->OnReplicaLost(0, absl::UnavailableError("died"), kNow);
  EXPECT_FALSE(session->RouteFor(0).require_fingerprint);
  SubmitTo(*session, 0, 1);
  session->OnDelta(0, Delta(Bytes("a")), kNow);
  session->OnReplicaLost(0, absl::UnavailableError("died"), kNow);
  EXPECT_TRUE(session->RouteFor(0).require_fingerprint);
}

TEST(Session, MarksWhatWasContinuedUnderAnotherProfile) {
  auto session = Make(Spec());
  SubmitTo(*session, 0, 0, "fp");
  EXPECT_TRUE(session->OnDelta(0, Delta(Bytes("a")), kNow).events.at(0).exact);
  // A replica of another profile that gives nothing leaves no mark.
  session->OnReplicaLost(0, absl::UnavailableError("died"), kNow);
  SubmitTo(*session, 0, 1, "other");
  session->OnReplicaLost(0, absl::UnavailableError("died"), kNow);
  EXPECT_EQ(session->RouteFor(0).fingerprint, "fp") << "the profile of what the client has";
  SubmitTo(*session, 0, 2, "fp");
  EXPECT_TRUE(session->OnDelta(0, Delta(Bytes("b")), kNow).events.at(0).exact);
  session->OnReplicaLost(0, absl::UnavailableError("died"), kNow);
  SubmitTo(*session, 0, 3, "other");
  EXPECT_FALSE(session->OnDelta(0, Delta(Bytes("c")), kNow).events.at(0).exact);
  const Actions actions = session->OnDelta(0, Delta(Bytes("d"), WireFinish::kLength), kNow);
  EXPECT_FALSE(actions.events.at(0).exact);
}

TEST(Session, EndsTheRequestThatIsBlamedForTwoCrashes) {
  auto session = Make(Spec());
  const absl::Status died = absl::UnavailableError("died");
  SubmitTo(*session, 0, 0);
  session->Blame(0);
  EXPECT_FALSE(session->sequence(0).on_probation()) << "its attempt is the one that crashed";
  EXPECT_FALSE(session->OnReplicaLost(0, died, kNow).end.has_value());
  EXPECT_TRUE(session->sequence(0).suspect());
  SubmitTo(*session, 0, 1);
  EXPECT_TRUE(session->sequence(0).on_probation());
  session->OnDelta(0, Delta(Bytes("a")), kNow);
  EXPECT_FALSE(session->sequence(0).on_probation());
  EXPECT_FALSE(session->OnReplicaLost(0, died, kNow).end.has_value()) << "not blamed";
  SubmitTo(*session, 0, 2);
  session->Blame(0);
  const Actions actions = session->OnReplicaLost(0, died, kNow);
  EXPECT_EQ(actions.end->status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(ErrorCode(actions.end->status), kReplicaCrash);
}

TEST(Session, EndsFromTheJournalWhenOnlyTheFinalDeltaWasLost) {
  RequestSpec spec = Spec();
  spec.max_tokens = 2;
  auto session = Make(spec);
  SubmitTo(*session, 0, 0);
  session->OnDelta(0, Delta(Bytes("ab")), kNow);
  const Actions actions = session->OnReplicaLost(0, absl::UnavailableError("died"), kNow);
  EXPECT_TRUE(actions.routes.empty());
  EXPECT_EQ(actions.events.at(0).finish, ChoiceFinish::kLength);
  EXPECT_TRUE(actions.end->status.ok());
}

TEST(Session, GivesUpAfterTheLastAttempt) {
  auto session = Make(Spec(), {.attempts_max = 2});
  SubmitTo(*session, 0, 0);
  session->OnReplicaLost(0, absl::UnavailableError("died"), kNow);
  SubmitTo(*session, 0, 1);
  const Actions actions = session->OnReplicaLost(0, absl::UnavailableError("died"), kNow);
  EXPECT_EQ(actions.end->status.code(), absl::StatusCode::kUnavailable);
}

TEST(Session, RetriesOnlyFailuresOfReplicas) {
  struct Case {
    absl::StatusCode code;
    bool rejected;
    bool retried;
  };
  for (const Case& c : {Case{absl::StatusCode::kUnavailable, true, true},
                        Case{absl::StatusCode::kUnavailable, false, true},
                        Case{absl::StatusCode::kResourceExhausted, true, true},
                        Case{absl::StatusCode::kResourceExhausted, false, false},
                        Case{absl::StatusCode::kInvalidArgument, true, false},
                        Case{absl::StatusCode::kInternal, false, false}}) {
    auto session = Make(Spec());
    SubmitTo(*session, 0, 0);
    const Actions actions = session->OnDelta(0, Failure(c.code, c.rejected), kNow);
    EXPECT_EQ(actions.routes.size(), c.retried ? 1u : 0u) << static_cast<int>(c.code);
    EXPECT_EQ(actions.end.has_value(), !c.retried);
    if (!c.retried) {
      EXPECT_EQ(actions.end->status.code(), c.code);
    }
  }
}

TEST(Session, WaitsForAReplicaOnlyWithinTheWindow) {
  auto session = Make(Spec(), {.window = absl::Seconds(10)});
  const absl::Status none = absl::UnavailableError("none");
  SubmitTo(*session, 0, 0);
  session->OnReplicaLost(0, absl::UnavailableError("died"), kNow);
  EXPECT_EQ(session->OnNoReplica(0, none, kNow + absl::Seconds(9)).routes.size(), 1u);
  const Actions actions = session->OnNoReplica(0, none, kNow + absl::Seconds(10));
  EXPECT_EQ(actions.end->status.message(), "died");
}

TEST(Session, FailsAtOnceWhenNoReplicaIsThereForANewRequestOrAllAreFull) {
  auto fresh = Make(Spec());
  EXPECT_EQ(fresh->OnNoReplica(0, absl::UnavailableError("none"), kNow).end->status.code(),
            absl::StatusCode::kUnavailable);
  auto full = Make(Spec());
  SubmitTo(*full, 0, 0);
  full->OnDelta(0, Failure(absl::StatusCode::kResourceExhausted, true), kNow);
  EXPECT_EQ(full->OnNoReplica(0, absl::UnavailableError("none"), kNow).end->status.code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(Session, CancelsTheSiblingsOfAFailedChoice) {
  auto session = Make(Spec(3));
  EXPECT_EQ(session->Start().routes.size(), 3u);
  for (int32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(SubmitTo(*session, i, 0).sampling.choice, static_cast<uint32_t>(i));
  }
  EXPECT_EQ(session->SiblingReplica(0), std::nullopt);  // it has had its attempt
  const Actions actions = session->OnDelta(1, Failure(absl::StatusCode::kInternal, false), kNow);
  ASSERT_EQ(actions.cancels.size(), 2u);
  EXPECT_EQ(actions.cancels[0].sequence, 0);
  EXPECT_EQ(actions.cancels[1].sequence, 2);
  EXPECT_EQ(actions.end->status.code(), absl::StatusCode::kInternal);
}

TEST(Session, CountsPromptsOnceAndAllChoices) {
  RequestSpec spec = Spec(2);
  spec.prompts.push_back(Bytes("xy"));
  auto session = Make(spec);
  for (int32_t i = 0; i < 4; ++i) {
    const SubmitValue submit = SubmitTo(*session, i, 0);
    EXPECT_EQ(submit.tokens, Bytes(i < 2 ? "prompt" : "xy"));
  }
  Actions actions;
  for (int32_t i = 0; i < 4; ++i) {
    EXPECT_FALSE(actions.end.has_value());
    SequenceDeltaValue delta = Delta({kHello}, WireFinish::kLength);
    delta.cached_tokens = 1;
    actions = session->OnDelta(i, delta, kNow);
  }
  ASSERT_TRUE(actions.end.has_value());
  EXPECT_EQ(actions.end->usage.prompt_tokens, 8);
  EXPECT_EQ(actions.end->usage.completion_tokens, 4);
  EXPECT_EQ(actions.end->usage.cached_tokens, 2);
}

TEST(Session, DeliversEachPromptLogprobOnceAcrossAttempts) {
  RequestSpec spec = Spec();
  spec.sampling.prompt_logprobs = 0;
  auto session = Make(spec);
  auto scored = [](size_t count) {
    SequenceDeltaValue delta;
    delta.prompt.resize(count);
    return delta;
  };
  SubmitTo(*session, 0, 0);
  EXPECT_EQ(session->OnDelta(0, scored(3), kNow).events.at(0).prompt.size(), 3u);
  session->OnReplicaLost(0, absl::UnavailableError("died"), kNow);
  EXPECT_EQ(SubmitTo(*session, 0, 1).sampling.prompt_logprobs, 0);
  EXPECT_EQ(session->OnDelta(0, scored(5), kNow).events.at(0).prompt.size(), 2u);
  session->OnReplicaLost(0, absl::UnavailableError("died"), kNow);
  EXPECT_EQ(SubmitTo(*session, 0, 2).sampling.prompt_logprobs, -1);
}

// Any order of events leads to exactly one end.
TEST(Session, EndsExactlyOnceWhateverHappens) {
  uint64_t state = 12345;
  auto random = [&state](uint64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
  };
  for (int round = 0; round < 500; ++round) {
    auto session = Make(Spec(3), {.attempts_max = 3});
    int ends = 0;
    std::vector<int32_t> routes = session->Start().routes;
    for (int step = 0; step < 200 && ends == 0; ++step) {
      Actions actions;
      const auto i = static_cast<int32_t>(random(3));
      if (!routes.empty() && random(2) == 0) {
        const int32_t next = routes.back();
        routes.pop_back();
        SubmitTo(*session, next, random(2));
        continue;
      }
      const uint64_t what = random(40);
      if (what == 0) {
        actions = session->Fail(absl::CancelledError("left"));
      } else if (what == 1 && !routes.empty()) {
        actions = session->OnNoReplica(routes.back(), absl::UnavailableError("none"), kNow);
        actions.routes.clear();
      } else if (what < 5) {
        actions = session->OnReplicaLost(i, absl::UnavailableError("died"), kNow);
      } else if (session->sequence(i).active()) {
        const bool last = random(6) == 0;
        actions = session->OnDelta(i,
                                   Delta({static_cast<int32_t>('a' + random(26))},
                                         last ? WireFinish::kLength : WireFinish::kNone),
                                   kNow);
      }
      routes.insert(routes.end(), actions.routes.begin(), actions.routes.end());
      ends += actions.end.has_value() ? 1 : 0;
    }
    if (ends == 0) ends += session->Fail(absl::CancelledError("over")).end.has_value() ? 1 : 0;
    EXPECT_EQ(ends, 1);
    EXPECT_TRUE(session->ended());
    EXPECT_FALSE(session->Fail(absl::CancelledError("again")).end.has_value());
  }
}

}  // namespace
}  // namespace shoal::router
