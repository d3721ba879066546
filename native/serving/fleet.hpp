// Fleet: engines on one clock. A replica is one engine, or several that step together. At one
// instant iterations end, then KV arrives, then requests, then engines plan. Iterations that are
// alike are one event, which an arrival cuts.
#pragma once

#include <compare>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <span>
#include <string>

#include "serving/arrivals.hpp"
#include "serving/carrier.hpp"
#include "serving/records.hpp"
#include "serving/routing.hpp"
#include "serving/scaling.hpp"
#include "serving/stream.hpp"

namespace yantra::serving {

struct FleetOptions {
    u64 bytes_per_token = 0;   // of KV that moves
    u32 layers = 1;            // by which it is sent; 1: whole, at the prompt's end
    u64 most_under_way = 0;    // requests that have not ended, others wait outside; 0: no bound
    u64 most_logged = 0;       // iterations
    bool samples = false;
    u32 pool_blocks = 0;       // of KV in a pool that all engines read and write
    bool singly = false;       // each iteration is an event, alike or not
};

class Fleet {
public:
    // Those of `stream`, if there is one.
    Fleet(const Requests& requests, const FleetOptions& options, std::shared_ptr<Stream> stream = nullptr);

    // A replica of `lanes` engines.
    void add(Role role, std::string_view engine, const EngineOptions& given, std::shared_ptr<const Cost> cost,
             u32 lanes, u32 stages, const Presence& presence);
    using Make = std::function<std::unique_ptr<Engine>(const Engine::Place&)>;
    void add(Role role, const Make& make, std::shared_ptr<const Cost> cost, u32 lanes, u32 stages,
             const Presence& presence);
    void route(Role role, std::unique_ptr<Routing> routing);
    void scale(Role role, const Scaling& scaling) { scaling_[place_of(role)] = scaling; }
    void carry(std::unique_ptr<Carrier> carrier) { carrier_ = std::move(carrier); }

    // Requests that have not ended then can never. Of a stream until it wants more.
    void run();

    Ledger& ledger() { return ledger_; }
    const std::vector<Replica>& replicas() const { return replicas_; }
    const Records& records() const { return records_; }
    Time now() const { return now_; }

private:
    struct ReplicaEnd {
        Time time;
        u32 replica;
        u32 version;
        friend auto operator<=>(const ReplicaEnd&, const ReplicaEnd&) = default;
    };
    enum class TurnKind : u8 { comes, fails, may_go, may_enter };
    struct Turn {
        Time time;
        u32 replica;
        TurnKind kind;
        Time since = 0;   // may_go: it was idle then
        friend auto operator<=>(const Turn&, const Turn&) = default;
    };

    Time next_time();
    void end_iterations();
    void end_iteration(u32 replica);
    void take_finished();
    void take_prefilled();
    void move(RequestId request);
    void take_moves();
    void take_turns();
    void take_arrivals();
    void arrive(RequestId request);
    void hand_to(RequestId request, Role role);
    TargetId chosen(RequestId request, Role role);
    void accept(RequestId request, TargetId target);
    void cut(u32 replica);
    void make_ready(u32 replica);
    void plan_ready();
    bool fill(Replica& of, bool ahead);
    void start(u32 replica);
    void enter(u32 replica);
    void leave(u32 replica);
    void book(Replica& of, Replica::Lane& lane, Batch& batch, const Ended& when);
    void note_idle(u32 replica);
    void sleep(u32 replica);
    void comes(u32 replica);
    void ask_for_more(Role role);
    void may_go(u32 replica, Time since);
    void goes(u32 replica);
    void fails(u32 replica);
    Engine& engine_of(TargetId target);

    const Requests& requests_;
    std::shared_ptr<Stream> stream_;
    FleetOptions options_;
    Ledger ledger_;
    Sequences sequences_;
    Tier pool_;
    std::vector<Replica> replicas_;
    std::vector<u32> replica_of_;              // by target
    std::vector<Target> targets_[3];           // that are up, by role
    std::unique_ptr<Routing> routing_[3];
    std::unique_ptr<Carrier> carrier_;

    Time now_ = 0;
    Arrivals arrivals_;
    std::priority_queue<ReplicaEnd, std::vector<ReplicaEnd>, std::greater<>> ends_;
    struct Homeless {
        RequestId request;
        Role role;
    };
    std::deque<Homeless> homeless_;       // nobody who would take them is up
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
    Scaling scaling_[3];                  // by role
    std::vector<u32> ready_;                   // replicas to plan at this instant
    std::vector<RequestId> unsent_;            // with KV that no engine is up to take
    Records records_;
};

}  // namespace yantra::serving
